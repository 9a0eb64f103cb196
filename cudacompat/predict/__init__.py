"""Pure prediction: facts in, prediction out."""

from cudacompat.model import HostFacts, ImageFacts, Prediction


def predict(image: ImageFacts, host: HostFacts) -> Prediction:
    """Play the launch through, stage by stage."""
    raise AssertionError("being written")
