# Tests, programs and the targets that run them. Programs are built by stock compilers and know nothing of hrx.
ROCM_BITCODE ?= /usr/lib/x86_64-linux-gnu/amdgcn/bitcode
ARCH ?= gfx1030
HIP_FLAGS := --offload-arch=$(ARCH) -Wno-unused-result -Wno-unused-value
CLANG19 := $(patsubst clang-%,clang++-%,$(CLANG))
CLANG19_FLAGS := -x hip $(HIP_FLAGS) -mcode-object-version=5 --rocm-path=/usr --rocm-device-lib-path=$(ROCM_BITCODE)

APP_SOURCES := $(wildcard tests/apps/*.hip)
APPS := build/tests/apps
APP_NAMES := $(APP_SOURCES:tests/apps/%.hip=%)
APP_PROGRAMS := $(foreach n,$(APP_NAMES),$(foreach o,O0 O2 O3,$(APPS)/$(n).hipcc-$(o) $(APPS)/$(n).clang19-$(o)))
SAN_PROGRAMS := $(foreach n,$(APP_NAMES),$(APPS)/$(n).hipcc-O3 $(APPS)/$(n).clang19-O3)

define app_rules
$$(APPS)/%.hipcc-$(1): tests/apps/%.hip tests/apps/app.h
	@mkdir -p $$(@D)
	$$(HIPCC) $$(HIP_FLAGS) -$(1) $$< -o $$@
$$(APPS)/%.clang19-$(1): tests/apps/%.hip tests/apps/app.h
	@mkdir -p $$(@D)
	$$(CLANG19) $$(CLANG19_FLAGS) -$(1) $$< -o $$@ -lamdhip64
endef
$(foreach o,O0 O2 O3,$(eval $(call app_rules,$(o))))

# A program that insists on where its library is: LD_LIBRARY_PATH cannot redirect it, the preload can.
$(APPS)/%.rpath: tests/apps/%.hip tests/apps/app.h
	@mkdir -p $(@D)
	$(HIPCC) $(HIP_FLAGS) -O2 $< -o $@ -Wl,--disable-new-dtags,-rpath,/usr/lib/x86_64-linux-gnu

# A code object file for the program that loads modules: what `hipcc --genco` makes.
$(APPS)/module_kernels.co: tests/apps/module_kernels.hip_module
	@mkdir -p $(@D)
	$(HIPCC) $(HIP_FLAGS) --genco -O3 -x hip $< -o $@

.PHONY: setup apps check-built check-programs
setup:
	scripts/setup

apps: $(APP_PROGRAMS) $(APPS)/vector_add.rpath $(APPS)/module_kernels.co

ifeq ($(SAN),)
check-programs: apps
else
check-programs: $(SAN_PROGRAMS) $(APPS)/vector_add.rpath $(APPS)/module_kernels.co
endif

check-built: all $(UNIT_TESTS) check-programs $(if $(SAN),,$(FUZZ_TARGETS:%=$(FUZZ_DIR)/%) $(FUZZ_SEEDS))

# In two steps: which files exist, and so which rules apply, may depend on what setup installs.
check: setup
	$(MAKE) --no-print-directory -j$$(nproc) SAN=$(SAN) check-built
	scripts/check $(B) $(B)/check.tsv $(SAN)

# All that takes long, a stage at a time; what has passed is not repeated until a source changes.
check-full: setup
	scripts/check-full $(B) $(B)/check.tsv

demo: setup
	$(MAKE) --no-print-directory -j$$(nproc) all $(APPS)/vector_add.hipcc-O3
	B=$(B) scripts/demo

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/hip $(DESTDIR)$(PREFIX)/include/hrx
	install -m 755 $(B)/bin/hrx $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(B)/lib/libhrx.so $(B)/lib/libhrx_interpose.so $(DESTDIR)$(PREFIX)/lib/
	ln -sf libhrx.so $(DESTDIR)$(PREFIX)/lib/libhrx.so.1
	for name in $(STAND_INS); do ln -sf ../libhrx_interpose.so $(DESTDIR)$(PREFIX)/lib/hip/$$name || exit 1; done
	install -m 644 include/hrx/*.h $(DESTDIR)$(PREFIX)/include/hrx/

-include tests/bench/rules.mk tests/model/rules.mk tests/native/rules.mk
