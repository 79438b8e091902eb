# Code objects that tests read, made by the compilers whose output hrx must understand.

FIXTURE_DIR := $(B)/tests/fixtures
FIXTURES := $(addprefix $(FIXTURE_DIR)/,v3.co v4.co v5.co bundle.hipfb)
FIXTURE_CLANG19 := -x hip --offload-arch=gfx1030 -O2 --cuda-device-only --no-gpu-bundle-output --rocm-path=/usr \
  --rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode

$(FIXTURE_DIR)/v5.co: tests/fixtures/kernels.hip
	@mkdir -p $(@D)
	$(subst clang-,clang++-,$(CLANG)) $(FIXTURE_CLANG19) -mcode-object-version=5 $< -o $@

$(FIXTURE_DIR)/v%.co: tests/fixtures/kernels.hip
	@mkdir -p $(@D)
	$(HIPCC) -c --offload-arch=gfx1030 -O2 --cuda-device-only --no-gpu-bundle-output -mcode-object-version=$* $< -o $@

$(FIXTURE_DIR)/bundle.hipfb: tests/fixtures/kernels.hip
	@mkdir -p $(@D)
	$(HIPCC) --genco --offload-arch=gfx1030 --offload-arch=gfx90a:xnack- -O2 $< -o $@

$(addprefix $(B)/tests/unit/,fat_binary code_object metadata): | $(FIXTURES)

# The software GPU's kernels as both compilers make them, with and without optimisation.
SOFT_FIXTURES := $(addprefix $(FIXTURE_DIR)/,soft4_O0.co soft4_O2.co soft5_O0.co soft5_O2.co lacking.co wave64.co)

$(FIXTURE_DIR)/wave64.co: FIXTURE_CLANG19 += -mwavefrontsize64
$(FIXTURE_DIR)/lacking.co $(FIXTURE_DIR)/wave64.co: tests/fixtures/lacking.hip
	@mkdir -p $(@D)
	$(subst clang-,clang++-,$(CLANG)) $(FIXTURE_CLANG19) -mcode-object-version=5 $< -o $@

$(FIXTURE_DIR)/soft5_%.co: tests/fixtures/soft.hip
	@mkdir -p $(@D)
	$(subst clang-,clang++-,$(CLANG)) $(filter-out -O2,$(FIXTURE_CLANG19)) -$* -mcode-object-version=5 $< -o $@

$(FIXTURE_DIR)/soft4_%.co: tests/fixtures/soft.hip
	@mkdir -p $(@D)
	$(HIPCC) -c --offload-arch=gfx1030 -$* --cuda-device-only --no-gpu-bundle-output -mcode-object-version=4 $< -o $@

$(addprefix $(B)/tests/unit/,program dispatch scheduler native_memory native_kernel contract): | $(SOFT_FIXTURES)

# Kernels for direct users of the library.
$(FIXTURE_DIR)/native.co: tests/fixtures/native.hip
	@mkdir -p $(@D)
	$(subst clang-,clang++-,$(CLANG)) $(FIXTURE_CLANG19) -mcode-object-version=5 $< -o $@

$(addprefix $(B)/tests/unit/,native_graph native_completion native_stream native_model native_behaviours gpu_graph): | $(FIXTURE_DIR)/native.co
$(addprefix $(B)/tests/unit/,native_graph native_model): | $(B)/lib/npu/copy.so
$(B)/tests/unit/native_kernel: | $(FIXTURES) $(NPU_PROGRAMS)

# Kernels for tests of HIP's calls, of both code object versions.
HIP_FIXTURES := $(FIXTURE_DIR)/hip4.co $(FIXTURE_DIR)/hip5.co

$(FIXTURE_DIR)/hip5.co: tests/fixtures/hip.hip
	@mkdir -p $(@D)
	$(subst clang-,clang++-,$(CLANG)) $(FIXTURE_CLANG19) -mcode-object-version=5 $< -o $@

$(FIXTURE_DIR)/hip4.co: tests/fixtures/hip.hip
	@mkdir -p $(@D)
	$(HIPCC) -c --offload-arch=gfx1030 -O2 --cuda-device-only --no-gpu-bundle-output -mcode-object-version=4 $< -o $@

$(addprefix $(B)/tests/unit/,hip_launch hip_library hip_rules): | $(HIP_FIXTURES)
