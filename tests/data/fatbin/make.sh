#!/usr/bin/env bash
# Makes the fixtures in this folder again: nvcc 13.0.88, g++ 12 and binutils 2.40 on x86-64 Linux.
set -euo pipefail
out=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >kernel.cu <<'CU'
__device__ float twice(float x);
__global__ void scale(float *x) { x[threadIdx.x] = 2.0f * x[threadIdx.x]; }
CU
echo >empty.cu

several=(-gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80
  -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_80,code=compute_80
  -gencode arch=compute_120,code=compute_120)
family=(-gencode arch=compute_100f,code=sm_100f -gencode arch=compute_103a,code=sm_103a
  -gencode arch=compute_120f,code=compute_120f)

for mode in none speed balance size; do
  nvcc -fatbin -compress-mode=$mode "${several[@]}" kernel.cu -o "several-$mode.fatbin"
done
nvcc -fatbin "${family[@]}" kernel.cu -o family.fatbin
nvcc -fatbin -G -gencode arch=compute_80,code='[sm_80,compute_80]' kernel.cu -o debug.fatbin
nvcc -fatbin -gencode arch=compute_90,code=compute_90 kernel.cu -o ptx-only.fatbin
nvcc -fatbin -arch=sm_75 empty.cu -o no-kernel.fatbin
nvcc -dc -gencode arch=compute_80,code=lto_80 kernel.cu -o lto.o
for arch in 75 90a 100f; do nvcc -cubin -arch=sm_$arch kernel.cu -o "sm_$arch.cubin"; done

both=(-gencode arch=compute_80,code='[sm_80,compute_80]')
nvcc -c "${both[@]}" kernel.cu -o kernel.o
nvcc -dc "${both[@]}" kernel.cu -o relocatable.o
ar crsD library.a kernel.o relocatable.o lto.o

small=(-shared -nostdlib -Wl,-s,-z,noseparate-code,-z,max-page-size=4096,--build-id=none,--hash-style=gnu)
nvcc -Xcompiler -fPIC -c "${several[@]}" kernel.cu -o pic.o
g++ "${small[@]}" -Wl,-soname,libkernel.so.1,-rpath,'$ORIGIN/../lib:/opt/lib' pic.o -o libkernel.so
nvcc -Xcompiler -fPIC -dc "${both[@]}" kernel.cu -o pic-rdc.o
g++ "${small[@]}" pic-rdc.o -o librelocatable.so
nvcc -Xcompiler -fPIC -dlink "${both[@]}" pic-rdc.o -o linked.o
g++ "${small[@]}" pic-rdc.o linked.o -o liblinked.so
for section in rodata data; do
  flags=$([ $section = data ] && echo aw || echo a)
  printf '.section .%s,"%s"\n.balign 8\n.quad 1\n.incbin "several-size.fatbin"\n' $section $flags >embedded.s
  g++ "${small[@]}" embedded.s -o "libembedded-$section.so"
done
g++ "${small[@]}" pic-rdc.o linked.o embedded.s -o libboth.so

cp ./*.fatbin ./*.cubin ./*.so lto.o kernel.o relocatable.o library.a "$out"
