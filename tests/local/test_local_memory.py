"""Memory that runs out is told from other failures, and cleaning up after one never fails."""

import pytest

pytest.importorskip("torch")

import torch

from models.wrappers.local.memory import free_memory, is_out_of_memory


@pytest.mark.parametrize("error", [
    MemoryError("std::bad_alloc"),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("FIND was unable to find an engine to execute this computation"),
    RuntimeError("std::bad_alloc"),
])  # fmt: skip
def test_memory_that_runs_out_is_known_by_all_its_names(error):
    assert is_out_of_memory(error)


@pytest.mark.parametrize("error", [
    None,
    ValueError("out of memory"),
    RuntimeError("CUDA error: device-side assert triggered"),
    RuntimeError("CUDA error: an illegal memory access was encountered"),
    RuntimeError("CUDA error: unspecified launch failure"),
    RuntimeError("CUDA error: uncorrectable ECC error encountered"),
    RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(...)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR"),
    RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"),
])  # fmt: skip
def test_other_failures_are_not_taken_for_it(error):
    assert not is_out_of_memory(error)


@pytest.mark.parametrize("broken", ["is_available", "empty_cache"])
def test_freeing_memory_of_a_device_that_has_failed_does_not_raise(broken, monkeypatch):
    called = []

    def fail():
        called.append(broken)
        raise RuntimeError("CUDA error: device-side assert triggered")

    for name in ("is_available", "is_initialized"):
        monkeypatch.setattr(torch.cuda, name, lambda: True)
    monkeypatch.setattr(torch.cuda, broken, fail)

    free_memory()

    assert called == [broken]
