/* Programs: what a kernel can reach, and what it lacks. */
#include "code/code_object.h"
#include "gpu/soft/program.h"
#include "soft_launch.h"

static struct decoded *decoded;
static struct soft_program *program;
static struct soft_reach reach;
static unsigned missing;
static uint32_t missing_at;

static void missing_note(const struct operation *operation, void *context) {
  (void)context;
  missing++;
  missing_at = operation->instruction->offset;
}

static void check(const uint32_t *words, unsigned count, uint32_t entry) {
  ck_assert_int_eq(decode_code("gfx1030", words, count * 4, &decoded), HRX_OK);
  ck_assert_int_eq(soft_program_bind(decoded, NULL, &program), HRX_OK);
  missing = 0;
  memset(&reach, 0, sizeof reach);
  ck_assert_int_eq(soft_program_check(program, entry, missing_note, NULL, &reach), HRX_OK);
  soft_program_release(program);
  decoded_release(decoded);
}
#define CHECK(entry, ...) check((const uint32_t[]){__VA_ARGS__}, sizeof(const uint32_t[]){__VA_ARGS__} / 4, entry)

enum { NOP = 0xbf800000, END = 0xbf810000, BRANCH = 0xbf820000, IF_SCC0 = 0xbf840000, ILLEGAL = 0 };
/* s_getpc_b64 s[0:1]; s_add_u32 s0, s0, inline constant; s_addc_u32 s1, s1, 0; s_swappc_b64 s[30:31], s[0:1] */
enum { GETPC = 0xbe801f00, ADD_0 = 0x80008000, ADDC = 0x82018001, SWAPPC = 0xbe9e2100, SETPC_0 = 0xbe802000, SETPC_30 = 0xbe80201e };

START_TEST(only_what_can_be_reached_counts) {
  CHECK(0, NOP, END, ILLEGAL);
  ck_assert_uint_eq(missing, 0);
  CHECK(0, BRANCH | 1, ILLEGAL, END);
  ck_assert_uint_eq(missing, 0);
  CHECK(0, IF_SCC0 | 1, ILLEGAL, END);
  ck_assert_uint_eq(missing, 1);
  ck_assert_uint_eq(missing_at, 4);
  CHECK(0, IF_SCC0 | 1, END, ILLEGAL);
  ck_assert_uint_eq(missing, 1);
  CHECK(4, ILLEGAL, END);
  ck_assert_uint_eq(missing, 0);
  ck_assert(!reach.outside && !reach.indirect);
}
END_TEST

START_TEST(leaving_the_code_is_noticed) {
  CHECK(0, NOP, NOP);
  ck_assert(reach.outside);
  CHECK(0, BRANCH | 5, END);
  ck_assert(reach.outside);
  CHECK(0, 0xbf82fffe, END); /* 4 bytes before the start */
  ck_assert(reach.outside);
  CHECK(0, 0xbf82ffff, END); /* to itself */
  ck_assert(!reach.outside);
}
END_TEST

START_TEST(calls_through_the_pc_are_followed) {
  /* to 24, where an illegal instruction is */
  CHECK(0, GETPC, ADD_0 | 20 << 8, ADDC, SWAPPC, END, END, ILLEGAL, SETPC_30);
  ck_assert_uint_eq(missing, 1);
  ck_assert_uint_eq(missing_at, 24);
  ck_assert(!reach.outside && !reach.indirect);
  /* to 28 */
  CHECK(0, GETPC, ADD_0 | 24 << 8, ADDC, SWAPPC, END, END, ILLEGAL, SETPC_30);
  ck_assert_uint_eq(missing, 0);
  /* far away */
  CHECK(0, GETPC, ADD_0 | 64 << 8, ADDC, SWAPPC, END);
  ck_assert(reach.outside && !reach.indirect);
  /* a long jump has no way back */
  CHECK(0, GETPC, ADD_0 | 16 << 8, ADDC, SETPC_0, ILLEGAL, END);
  ck_assert_uint_eq(missing, 0);
}
END_TEST

START_TEST(pointers_from_elsewhere_are_indirect) {
  CHECK(0, SWAPPC, END);
  ck_assert(reach.indirect && !reach.outside);
  CHECK(0, SETPC_30); /* a return */
  ck_assert(!reach.indirect && !reach.outside);
}
END_TEST

START_TEST(launch_that_lacks_an_instruction_is_refused_by_name) {
  device_setup();
  object_load((unsigned)_i);
  int *out = device_memory(4);
  struct gpu_kernel *kernel = NULL;
  ck_assert_int_eq(gpu_module_kernel(module, "lacking", &kernel), HRX_OK);
  struct gpu_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .arguments = &out, .argument_bytes = sizeof out};
  for (int again = 0; again < 2; again++) {
    struct gpu_dispatch *dispatch = NULL;
    ck_assert_int_eq(gpu_dispatch_create(kernel, &launch, &dispatch), HRX_UNSUPPORTED);
    ck_assert_int_eq(hrx_last_reason(), HRX_REASON_INSTRUCTION);
    ck_assert_ptr_nonnull(strstr(hrx_last_message(), "gfx1030"));
    ck_assert_ptr_nonnull(strstr(hrx_last_message(), "s_subvector_loop_begin"));
    ck_assert_ptr_nonnull(strstr(hrx_last_message(), "lacking"));
    ck_assert_ptr_nonnull(strstr(hrx_last_message(), "bd800001"));
  }
  RUN("write_at", linear(1, 1), false, ((struct { int *out; int64_t index; }){out, 0})); /* others run */
  device_teardown();
}
END_TEST

struct told {
  unsigned count;
  char first[512];
};

static void told_note(uint32_t kernel, const struct soft_missing *found, void *context) {
  struct told *told = (struct told *)context + kernel;
  if (told->count++ == 0) snprintf(told->first, sizeof told->first, "%s", found->text);
  if (found->instruction != NULL) ck_assert_str_eq(opcode_name(found->instruction->opcode), "s_subvector_loop_begin");
}

/* How many kernels of an object a launch refuses, all of them told beforehand for the same reason, and no other. */
static unsigned refused(const char *file) {
  struct fixture fixture = fixture_read(file);
  struct code_object *object = NULL;
  unsigned count = 0;
  device_setup();
  ck_assert_int_eq(code_object_open(fixture.bytes, fixture.size, &object), HRX_OK);
  ck_assert_int_eq(gpu_module_load(device, fixture.bytes, fixture.size, &module), HRX_OK);
  struct told *told = calloc(object->kernel_count, sizeof *told);
  ck_assert_int_eq(soft_object_missing(object, "gfx1030", fixture.bytes, fixture.size, told_note, told), HRX_OK);
  for (uint32_t i = 0; i < object->kernel_count; i++) {
    const char *name = object->kernels[i].name;
    struct gpu_kernel *kernel = NULL;
    ck_assert_int_eq(gpu_module_kernel(module, name, &kernel), HRX_OK);
    bool ready = gpu_kernel_ready(kernel) == HRX_OK;
    ck_assert_msg(ready == (told[i].count == 0), "%s: the launch is %s, but %u things are missing", name,
                  ready ? "accepted" : "refused", told[i].count);
    if (ready) continue;
    ck_assert_msg(strstr(hrx_last_message(), told[i].first) != NULL, "%s: %s, not %s", name, hrx_last_message(), told[i].first);
    count++;
  }
  free(told);
  code_object_release(object);
  device_teardown();
  free(fixture.bytes);
  return count;
}

START_TEST(what_is_missing_is_what_launches_are_refused_for) {
  ck_assert_uint_eq(refused(soft_objects[_i]), 1); /* lacking */
}
END_TEST

START_TEST(missing_is_what_a_wave_can_reach) {
  ck_assert_uint_eq(refused("lacking.co"), 3); /* not `whole` */
  ck_assert_uint_eq(refused("wave64.co"), 4);
}
END_TEST

START_TEST(objects_that_do_not_load_are_told) {
  struct fixture fixture = fixture_read(soft_objects[0]);
  struct code_object *object = NULL;
  ck_assert_int_eq(code_object_open(fixture.bytes, fixture.size, &object), HRX_OK);
  ck_assert_int_eq(soft_object_missing(object, "gfx1100", fixture.bytes, fixture.size, told_note, NULL), HRX_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(hrx_last_message(), "executes gfx1030, not \"gfx1100\""));
  snprintf(object->target, sizeof object->target, "gfx1031");
  ck_assert_int_eq(soft_object_missing(object, "gfx1030", fixture.bytes, fixture.size, told_note, NULL), HRX_UNSUPPORTED);
  ck_assert_int_eq(hrx_last_reason(), HRX_REASON_TARGET);
  code_object_release(object);
  free(fixture.bytes);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("program");
  TCase *rules = tcase_create("program");
  tcase_add_test(rules, only_what_can_be_reached_counts);
  tcase_add_test(rules, leaving_the_code_is_noticed);
  tcase_add_test(rules, calls_through_the_pc_are_followed);
  tcase_add_test(rules, pointers_from_elsewhere_are_indirect);
  tcase_add_loop_test(rules, launch_that_lacks_an_instruction_is_refused_by_name, 0, SOFT_OBJECTS);
  tcase_add_loop_test(rules, what_is_missing_is_what_launches_are_refused_for, 0, SOFT_OBJECTS);
  tcase_add_test(rules, missing_is_what_a_wave_can_reach);
  tcase_add_test(rules, objects_that_do_not_load_are_told);
  suite_add_tcase(suite, rules);
  return suite_run(suite);
}
