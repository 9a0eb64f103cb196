"""Asking a scheduler itself: kubectl for a cluster's nodes, sinfo and scontrol for a Slurm site's."""

from __future__ import annotations

import json
import secrets
import shutil
from dataclasses import replace

from cudacompat.errors import Error, HostError
from cudacompat.host import host_json
from cudacompat.host.local import local_host
from cudacompat.host.process import run
from cudacompat.host.remote import RemoteMachine, read_answers
from cudacompat.host.remote_script import script
from cudacompat.inventory.kubernetes import read_fleet
from cudacompat.inventory.slurm import read_site, read_site_json
from cudacompat.inventory.values import listed
from cudacompat.model import HostFacts
from cudacompat.model.inventory import Fleet, Node, Nodes, SlurmSite

_SECONDS = 60.0
_NODE_SECONDS = 150.0
_LONGEST = 512 << 20


def kubernetes_cluster(context: str) -> Fleet:
    """The nodes behind a kubectl context, with their ResourceSlices where the cluster has any.

    Raises HostError with kubectl's own words.
    """
    nodes = _kubectl(context, "nodes")
    try:
        slices = _kubectl(context, "resourceslices")
    except HostError:
        # Clusters without dynamic resource allocation, or users who may not list slices.
        slices = "{}"
    where = f"kubectl --context {context}"
    items = [*listed(_loaded(nodes, where).get("items")), *listed(_loaded(slices, where).get("items"))]
    return read_fleet({"items": items}, where)


def _kubectl(context: str, what: str) -> str:
    program = shutil.which("kubectl")
    if program is None:
        raise HostError("kubectl is not installed here; save 'kubectl get nodes -o json' in a file and give --nodes")
    # "--context=NAME": a name that begins with a dash stays a name.
    command = [program, f"--context={context}", "get", what, "-o", "json", "--request-timeout=30s"]
    answer = run("kubectl", command, seconds=_SECONDS, most_bytes=_LONGEST)
    if answer.code != 0:
        raise HostError(f"kubectl get {what} failed for context {context}: {_last(answer.err)}")
    return answer.out


def slurm_site() -> SlurmSite:
    """The nodes of the Slurm site that this machine belongs to. Raises HostError with Slurm's own words."""
    program = shutil.which("scontrol")
    if program is None:
        raise HostError("scontrol is not installed here; save 'scontrol show node' in a file and give --nodes")
    sinfo = shutil.which("sinfo")
    if sinfo is not None:
        # Not every build of Slurm has the serializer that writes JSON.
        answer = run("sinfo", [sinfo, "--json"], seconds=_SECONDS, most_bytes=_LONGEST)
        if answer.code == 0 and answer.out.lstrip().startswith("{"):
            return read_site_json(_loaded(answer.out, "sinfo --json"), "sinfo --json")
    answer = run("scontrol", [program, "show", "node"], seconds=_SECONDS, most_bytes=_LONGEST)
    if answer.code != 0:
        raise HostError(f"scontrol show node failed: {_last(answer.err or answer.out)}")
    return read_site(answer.out, "scontrol show node")


def _loaded(text: str, where: str) -> dict[str, object]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HostError(f"{where} answered no JSON: {str(error)[:120]}") from error
    if not isinstance(document, dict):
        raise HostError(f"{where} answered no JSON object")
    return document


def asked_by_srun(nodes: Nodes) -> Nodes:
    """The site's nodes with what one node of each type says of itself; the others of its type are like it.

    A node that does not answer leaves its type as the scheduler described it, with a note.
    """
    answers: dict[HostFacts, HostFacts] = {}
    notes: list[str] = []
    for node in nodes.nodes:
        if node.host.gpus == () or not node.schedulable or node.host in answers:
            continue
        try:
            answers[node.host] = _srun(node)
        except Error as error:
            answers[node.host] = node.host
            notes.append(f"{node.name}: {error}")
    changed = tuple(replace(node, host=answers.get(node.host, node.host)) for node in nodes.nodes)
    kept = tuple(note for note in nodes.notes if not any(note.endswith(said) for said in _answered(answers)))
    return Nodes(changed, nodes.scheduler, (*kept, *notes))


def _answered(answers: dict[HostFacts, HostFacts]) -> set[str]:
    """What the scheduler could not say and the nodes have said since."""
    return {note for before, after in answers.items() if after is not before for note in before.notes}


def _srun(node: Node) -> HostFacts:
    program = shutil.which("srun")
    if program is None:
        raise HostError("srun is not installed here")
    token = secrets.token_hex(16)
    # A GPU must be asked for: where Slurm confines devices, nvidia-smi sees none without.
    request = [f"--nodelist={node.name}", "--nodes=1", "--ntasks=1", "--gres=gpu:1", "--immediate=60", "--quiet"]
    answer = run(
        f"srun on {node.name}", [program, *request, "sh", "-s"], seconds=_NODE_SECONDS, stdin=script(token).encode()
    )
    answers = read_answers(answer.out, token)
    if not answers:
        raise HostError(f"srun brought no answer: {_last(answer.err)}")
    origin = f"{node.name} (asked by srun)"
    ready = answers.get(("cmd", "cudacompat host --format json"))
    if ready is not None and ready.code == 0 and host_json.matches(ready.text):
        said = host_json.parse(ready.text, origin)
    else:
        said = local_host(machine=RemoteMachine(origin, answers))
    # The step got one GPU; which boards the node has, the scheduler knows better.
    return replace(said, origin=origin, gpus=node.host.gpus or said.gpus)


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if lines else "it said nothing")[:300].rstrip(".")
