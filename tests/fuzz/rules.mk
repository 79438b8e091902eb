# Fuzzing of everything that reads bytes from outside, and of the whole by programs made of bytes: libFuzzer, by clang.
#
#   make fuzz-brief                   ten seconds in all, as part of `make check`
#   make fuzz [FUZZ_SECONDS=600]      that long for each target; what it finds goes to $(B)/fuzz/found

FUZZ_SECONDS ?= 600
FUZZ_DIR := $(B)/fuzz
FUZZ_TARGETS := fat_binary code_object decode native_model
FUZZ_SEEDS := $(addprefix $(FUZZ_DIR)/corpus/,fat_binary/bundle.hipfb code_object/v3.co code_object/v4.co code_object/v5.co decode/v4.bin decode/v5.bin native_model/1 native_model/2)
FUZZ_FLAGS := -std=gnu17 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Iinclude -Iruntime -I. -D_GNU_SOURCE
FUZZ_CODE := $(wildcard runtime/code/*.c) runtime/base/status.c
.PHONY: fuzz-brief

$(FUZZ_DIR)/%: tests/fuzz/%.c $(FUZZ_CODE) $(wildcard runtime/code/*.h runtime/code/*.def)
	@mkdir -p $(@D)
	$(CLANG) $(FUZZ_FLAGS) $< $(FUZZ_CODE) -o $@ -lelf -lmsgpackc -lzstd -lz -ldl -pthread

# What keeps the order is built for the fuzzer; devices and the rest are as they are elsewhere.
FUZZ_ORDER := $(wildcard runtime/base/*.c runtime/memory/*.c runtime/engine/*.c runtime/native/*.c runtime/npu/*.c runtime/npu/soft/*.c \
  runtime/trace/*.c runtime/gpu/*.c)
FUZZ_ORDER_OBJECTS := $(FUZZ_ORDER:%.c=$(FUZZ_DIR)/obj/%.o)

$(FUZZ_DIR)/obj/%.o: %.c tests/fuzz/rules.mk
	@mkdir -p $(@D)
	$(CLANG) $(subst fuzzer,fuzzer-no-link,$(FUZZ_FLAGS)) -MMD -MP -c $< -o $@

$(FUZZ_DIR)/native_model: tests/fuzz/native_model.c $(wildcard tests/unit/include/native_*.h) $(FUZZ_ORDER_OBJECTS) $(B)/obj/libinside.a \
    | $(FIXTURE_DIR)/native.co $(B)/lib/npu/copy.so
	$(CLANG) $(FUZZ_FLAGS) -MMD -MP $< $(FUZZ_ORDER_OBJECTS) $(B)/obj/libinside.a -o $@ $(LIBS)

$(FUZZ_DIR)/corpus/native_model/%: tests/unit/include/native_program.h
	@mkdir -p $(@D)
	gzip -$*nc $< | tail -c 900 >$@

$(FUZZ_DIR)/seed: tests/fuzz/seed.c $(B)/obj/libinside.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $< -o $@ $(B)/obj/libinside.a $(LIBS)

$(FUZZ_DIR)/corpus/fat_binary/%: $(B)/tests/fixtures/%
	@mkdir -p $(@D)
	cp $< $@

$(FUZZ_DIR)/corpus/code_object/%: $(B)/tests/fixtures/%
	@mkdir -p $(@D)
	cp $< $@

$(FUZZ_DIR)/corpus/decode/%.bin: $(B)/tests/fixtures/%.co $(FUZZ_DIR)/seed
	@mkdir -p $(@D)
	$(FUZZ_DIR)/seed $< $@

# $(1): seconds for each target. What libFuzzer says is shown only where it found something.
FUZZ_ALL = mkdir -p $(FUZZ_DIR)/found; for target in $(FUZZ_TARGETS); do \
  echo "fuzz $$target, $(1) s"; \
  ASAN_OPTIONS=allocator_may_return_null=1 $(FUZZ_DIR)/$$target -rss_limit_mb=3000 -malloc_limit_mb=2000 -max_len=65536 \
    -timeout=20 -max_total_time=$(1) -artifact_prefix=$(FUZZ_DIR)/found/ $(FUZZ_DIR)/corpus/$$target \
    >$(FUZZ_DIR)/$$target.log 2>&1 || { tail -60 $(FUZZ_DIR)/$$target.log; exit 1; }; done

fuzz-brief: $(FUZZ_TARGETS:%=$(FUZZ_DIR)/%) $(FUZZ_SEEDS)
	@$(call FUZZ_ALL,3)

fuzz: $(FUZZ_TARGETS:%=$(FUZZ_DIR)/%) $(FUZZ_SEEDS)
	@$(call FUZZ_ALL,$(FUZZ_SECONDS))
