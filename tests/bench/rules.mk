# What `make bench` runs: programs of $(B)/bench, their rows in rows.tsv, run and reported by scripts/bench.

BENCH_DIR := $(B)/bench
BENCH_HEADERS := tests/bench/timing.h tests/bench/fma.h
BENCH_CFLAGS := -std=gnu17 -O3 $(WARN)
BENCH_PROGRAMS := $(addprefix $(BENCH_DIR)/,hip_calls fma fma_scalar fma_pocl insert starpu_insert chains_sim coordinated)
# The scalar loop gets the FMA instruction, without which fmaf is a call, and stays scalar: one work-item after another.
BENCH_SCALAR := $(if $(filter x86_64,$(shell uname -m)),-mfma) -fno-tree-vectorize

$(BENCH_DIR)/libdirect.so: tests/bench/direct.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -shared -fPIC $< -o $@

$(BENCH_DIR)/hip_calls: tests/bench/hip_calls.hip $(BENCH_DIR)/libdirect.so $(BENCH_HEADERS)
	$(HIPCC) $(HIP_FLAGS) -O3 $< -o $@ -L$(BENCH_DIR) -ldirect -Wl,-rpath,'$$ORIGIN'

$(BENCH_DIR)/fma: tests/bench/fma.hip $(BENCH_HEADERS)
	@mkdir -p $(@D)
	$(HIPCC) $(HIP_FLAGS) -O3 $< -o $@

$(BENCH_DIR)/fma_scalar: tests/bench/fma_scalar.c $(BENCH_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) $(BENCH_SCALAR) $< -o $@ -lm

$(BENCH_DIR)/fma_pocl: tests/bench/fma_pocl.c $(BENCH_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) $< -o $@ -lOpenCL

$(BENCH_DIR)/insert: tests/bench/insert.c tests/bench/insert.h $(BENCH_HEADERS) $(B)/obj/libinside.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $< -o $@ $(B)/obj/libinside.a $(LIBS)

$(BENCH_DIR)/chains_sim $(BENCH_DIR)/coordinated: $(BENCH_DIR)/%: tests/bench/%.c tests/native/native.h $(BENCH_HEADERS) \
  $(B)/obj/libinside.a | $(NPU_PROGRAMS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -DNPU_PROGRAMS='"$(B)/lib/npu/"' $< -o $@ $(B)/obj/libinside.a $(LIBS)

# Its headers are not held to our warnings.
$(BENCH_DIR)/starpu_insert: tests/bench/starpu_insert.c tests/bench/insert.h $(BENCH_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $$(pkg-config --cflags starpu-1.3 | sed 's/-I/-isystem /g') $< -o $@ $$(pkg-config --libs starpu-1.3)

.PHONY: bench-built
bench-built: all $(BENCH_PROGRAMS)

bench: setup
	$(MAKE) --no-print-directory -j$$(nproc) bench-built
	scripts/bench $(B) $(B)/bench.tsv
