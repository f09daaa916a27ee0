/* The LD_PRELOAD stub of `ulpscope record`. It links nothing but libc, so that it is harmless to a
 * program without torch. Where the program has brought libtorch_cpu with it, the recorder beside this
 * file is loaded and started with the options in ULPSCOPE_* variables. In a Python process torch comes
 * later, and the Python package does the same.
 *
 * It also stands before the optimizers of LibTorch, which, unlike Python's, tell nobody when a step
 * begins: their step() is reached through symbols, so that the definitions below get the call, mark
 * the step, and pass it on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* torch_library;
static void (*enter_optimizer)(const char*);
static void (*leave_optimizer)(void);

static void say(const char* line, const char* detail) {
  fprintf(stderr, "ulpscope: nothing is recorded: %s%s%s\n", line, detail[0] ? ": " : "", detail);
}

/* "2.13.0" of this file's `name` (a line that holds a version somewhere); false where there is none. */
static int read_version(const char* folder, const char* name, char* version, size_t size) {
  char path[4096];
  char line[256];
  FILE* file;
  int found = 0;
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return 0;
  file = fopen(path, "re");
  if (file == NULL) return 0;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    size_t length;
    const char* at = strpbrk(line, "0123456789");
    if (at == NULL || (strchr(line, '=') != NULL && strncmp(line, "__version__", 11) != 0)) continue;
    length = strspn(at, "0123456789.");
    if (length >= size) break;
    memcpy(version, at, length);
    version[length] = '\0';
    found = 1;
  }
  fclose(file);
  return found;
}

/* libtorch's ABI holds within one version. False where it is certain that this is another one. */
static int right_torch(char* version, size_t size) {
  struct link_map* map = NULL;
  char folder[4096];
  char* slash;
  if (dlinfo(torch_library, RTLD_DI_LINKMAP, &map) != 0 || map == NULL) return 1;
  if (strlen(map->l_name) >= sizeof folder) return 1;
  strcpy(folder, map->l_name);
  slash = strrchr(folder, '/');
  if (slash == NULL) return 1;
  strcpy(slash, "");
  slash = strrchr(folder, '/');
  if (slash == NULL) return 1;
  *slash = '\0';
  if (!read_version(folder, "version.py", version, size) &&
      !read_version(folder, "build-version", version, size)) {
    return 1;
  }
  return strcmp(version, ULPSCOPE_TORCH_VERSION) == 0;
}

static int hook_path(char* path, size_t size) {
  Dl_info self;
  const char* given = getenv("ULPSCOPE_HOOK");
  const char* slash;
  if (given != NULL && given[0] != '\0') return (size_t)snprintf(path, size, "%s", given) < size;
  if (dladdr((void*)&hook_path, &self) == 0 || self.dli_fname == NULL) return 0;
  slash = strrchr(self.dli_fname, '/');
  return (size_t)snprintf(path, size, "%.*s/libulpscope_hook.so",
                          slash == NULL ? 1 : (int)(slash - self.dli_fname),
                          slash == NULL ? "." : self.dli_fname) < size;
}

__attribute__((constructor)) static void start(void) {
  char path[4096];
  char version[64] = "";
  void* hook;
  const char* (*record)(void);
  const char* why;
  const char* output = getenv("ULPSCOPE_OUTPUT");
  if (output == NULL || output[0] == '\0') return;
  torch_library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  if (torch_library == NULL) return;
  if (!right_torch(version, sizeof version)) {
    fprintf(stderr,
            "ulpscope: nothing is recorded: the program has torch %s, this recorder was built for "
            "torch %s; build ulpscope with Torch_DIR set to the program's torch\n",
            version, ULPSCOPE_TORCH_VERSION);
    return;
  }
  if (!hook_path(path, sizeof path)) {
    say("the path of libulpscope_hook.so is too long", "");
    return;
  }
  hook = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (hook == NULL) {
    const char* error = dlerror();
    say("the recorder cannot be loaded", error == NULL ? path : error);
    return;
  }
  *(void**)&record = dlsym(hook, "ulpscope_record_from_environment");
  *(void**)&enter_optimizer = dlsym(hook, "ulpscope_enter_optimizer");
  *(void**)&leave_optimizer = dlsym(hook, "ulpscope_leave_optimizer");
  if (record == NULL || enter_optimizer == NULL || leave_optimizer == NULL) {
    say("not a recorder", path);
    enter_optimizer = NULL;
    return;
  }
  why = record();
  if (why != NULL) say(why, "");
}

static void leave(const int* entered) {
  if (*entered) leave_optimizer();
}

/* Tensor Optimizer::step(std::function<Tensor()>): the result and the closure are passed by address. */
typedef void* (*step_function)(void* result, void* self, void* closure);

static void* pass_on(const char* symbol, const char* name, void* result, void* self, void* closure) {
  step_function next;
  __attribute__((cleanup(leave))) int entered = 0; /* an exception leaves the step, too */
  void* torch = torch_library;
  if (torch == NULL) torch = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  *(void**)&next = torch == NULL ? NULL : dlsym(torch, symbol);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, symbol);
  if (next == NULL) {
    fprintf(stderr, "ulpscope: %s is called, but is nowhere to be found\n", symbol);
    abort();
  }
  if (enter_optimizer != NULL) {
    enter_optimizer(name);
    entered = 1;
  }
  return next(result, self, closure);
}

#define OPTIMIZER(NAME, MANGLED)                                                       \
  __attribute__((visibility("default"))) void* step_of_##NAME(void*, void*, void*)     \
      __asm__(MANGLED);                                                                \
  void* step_of_##NAME(void* result, void* self, void* closure) {                      \
    return pass_on(MANGLED, #NAME, result, self, closure);                             \
  }

OPTIMIZER(SGD, "_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE")
OPTIMIZER(Adam, "_ZN5torch5optim4Adam4stepESt8functionIFN2at6TensorEvEE")
OPTIMIZER(AdamW, "_ZN5torch5optim5AdamW4stepESt8functionIFN2at6TensorEvEE")
OPTIMIZER(LBFGS, "_ZN5torch5optim5LBFGS4stepESt8functionIFN2at6TensorEvEE")
OPTIMIZER(Adagrad, "_ZN5torch5optim7Adagrad4stepESt8functionIFN2at6TensorEvEE")
OPTIMIZER(RMSprop, "_ZN5torch5optim7RMSprop4stepESt8functionIFN2at6TensorEvEE")
