// `run generate`: goes on with a prompt, holds a conversation, or serves another program.
#include "features.h"
#include "runner.h"

#include "model.h"

#include MODEL_HEADER
#include "megcc_generate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char kUsage[] =
    "usage: run generate [-p PROMPT | --chat | --serve] [-n N] [--temperature T] [--top-k K]\n"
    "           [--top-p P] [--min-p P] [--repetition-penalty R] [--seed S] [--stop TOKEN]...\n"
    "           [--system TEXT] [--capacity N] [--chunk N] [--prefix-cache FILE] [--threads N]\n"
    "           [--machine NAME] [--model FILE]\n"
    "  -p PROMPT       the text to go on with; without it, standard input\n"
    "  --chat          each line of standard input is a message, --system TEXT one before them\n"
    "  --serve         requests on standard input, for tvmc generate\n"
    "  -n N            most tokens (128); --stop TOKEN: another token that ends it\n"
    "  --temperature T 0 (default): the most likely token each time; else it is drawn, with "
    "--seed\n"
    "  --capacity N    most tokens of prompt and answer together (1024)\n"
    "  --chunk N       tokens of a prompt that are computed together (64)\n"
    "  --prefix-cache FILE  what a prompt and FILE have in common at their beginnings is not\n"
    "                  computed again; where there is no FILE, the first prompt is saved there\n";

enum { MOST_STOPS = 64, LINE = 65536 };

struct session {
  struct options o;
  const char *prompt, *system, *prefix;
  int chat, serve;
  unsigned long most, capacity, chunk;
  uint32_t flags;  // of megcc_encode
  megcc_sampler_t sampler;
  const char *stop[MOST_STOPS];
  size_t n_stops;
  int32_t stops[2 * MOST_STOPS];

  megcc_tokenizer_t tokenizer;
  megcc_generator_t *generator;
  size_t bytes;  // of its memory
  int32_t *tokens;
  void *work;  // of megcc_encode
  size_t work_bytes;

  unsigned long made;
  double began, first, ended;  // ms
};

// ---- the command line --------------------------------------------------------------------------

static unsigned long number(const char *text, const char *option, unsigned long most) {
  char *end;
  unsigned long value;
  errno = 0;
  value = strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != 0 || errno != 0 || value > most) {
    fail("takes a number without sign", option);
  }
  return value;
}

static float fraction(const char *text, const char *option) {
  char *end;
  const float value = strtof(text, &end);
  if (end == text || *end != 0) fail("takes a number", option);
  return value;
}

static void parse_options(struct session *s, int argc, char **argv) {
  int i;
  for (i = 1; i < argc; ++i) {
    const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
      fputs(kUsage, stdout);
      exit(0);
    }
    if (!strcmp(a, "--chat") || !strcmp(a, "--serve")) {
      *(a[2] == 'c' ? &s->chat : &s->serve) = 1;
      continue;
    }
    if (v == NULL) fail("is unknown, or needs a value; see run generate --help", a);
    ++i;
    if (!strcmp(a, "-p")) {
      s->prompt = v;
    } else if (!strcmp(a, "-n")) {
      s->most = number(v, a, UINT32_MAX);
    } else if (!strcmp(a, "--temperature")) {
      s->sampler.temperature = fraction(v, a);
    } else if (!strcmp(a, "--top-k")) {
      s->sampler.top_k = (int32_t)number(v, a, INT32_MAX);
    } else if (!strcmp(a, "--top-p")) {
      s->sampler.top_p = fraction(v, a);
    } else if (!strcmp(a, "--min-p")) {
      s->sampler.min_p = fraction(v, a);
    } else if (!strcmp(a, "--repetition-penalty")) {
      s->sampler.repetition_penalty = fraction(v, a);
    } else if (!strcmp(a, "--seed")) {
      s->sampler.seed = number(v, a, (unsigned long)-1);
    } else if (!strcmp(a, "--stop")) {
      if (s->n_stops == MOST_STOPS) fail("given too often", a);
      s->stop[s->n_stops++] = v;
    } else if (!strcmp(a, "--system")) {
      s->system = v;
    } else if (!strcmp(a, "--prefix-cache")) {
      s->prefix = v;
    } else if (!strcmp(a, "--capacity")) {
      s->capacity = number(v, a, INT32_MAX);
    } else if (!strcmp(a, "--chunk")) {
      s->chunk = number(v, a, INT32_MAX);
    } else if (!strcmp(a, "--threads")) {
      s->o.threads = number(v, a, 255);
    } else if (!strcmp(a, "--machine")) {
      s->o.machine = v;
    } else if (!strcmp(a, "--model")) {
      s->o.model = v;
    } else {
      fail("unknown option; see run generate --help", a);
    }
  }
  if (s->o.threads < 1) fail("must be from 1 to 255", "--threads");
}

// ---- the model -----------------------------------------------------------------------------

static void open_model(struct session *s, const char *argv0) {
  const char *machine;
  const megcc_kernels_t *kernels = kernels_for(s->o.machine, &machine);
  const megcc_image_t image = image_from(s->o.model, argv0, machine);
  const uint32_t capacity = (uint32_t)s->capacity, chunk = (uint32_t)s->chunk;
  megcc_model_t *model;
  megcc_context_t *context;
  megcc_status_t status;
  size_t bytes, count, k;
  const int32_t *known;
  void *mem;
  check(megcc_model_open(&image, kernels, allocate(MEGCC_MODEL_BYTES), MEGCC_MODEL_BYTES, &model),
        "model");
  context = new_context(&s->o, model);
  use_threads(&s->o, context);
  check(megcc_tokenizer_open(MODEL_TOKENIZER.data, MODEL_TOKENIZER.bytes, &s->tokenizer),
        "tokenizer");
  status = megcc_generator_bytes(model, context, &s->tokenizer, capacity, chunk, &bytes);
  if (status == MEGCC_ERR_SIZE) fail("must be at least 1", "--capacity and --chunk");
  if (status == MEGCC_ERR_DATA) fail("is that of another model", "tokenizer");
  check(status, "the model's ports, or --capacity");
  s->bytes = bytes;
  mem = allocate(bytes);
  check(megcc_generator_create(model, context, &s->tokenizer, capacity, chunk, mem, bytes,
                               &s->generator),
        "generator");
  s->tokens = (int32_t *)allocate((size_t)capacity * sizeof *s->tokens);
  known = megcc_tokenizer_stops(&s->tokenizer, &count);
  for (k = 0; k < s->n_stops; ++k) {
    check(megcc_token_named(&s->tokenizer, s->stop[k], &s->stops[k]), s->stop[k]);
  }
  for (k = 0; k < count && k < MOST_STOPS; ++k) s->stops[s->n_stops++] = known[k];
}

static char *read_all(FILE *file, size_t *bytes) {
  size_t room = LINE;
  char *data = (char *)malloc(room);
  *bytes = 0;
  while (data != NULL) {
    const size_t got = fread(data + *bytes, 1, room - *bytes, file);
    char *larger;
    *bytes += got;
    if (got == 0) return data;
    if (*bytes < room) continue;
    room *= 2;
    larger = (char *)realloc(data, room);
    if (larger == NULL) break;
    data = larger;
  }
  fail("there is no memory for it", "the input");
  return NULL;
}

// ---- prefixes ------------------------------------------------------------------------------

// Replaces the sequence by a saved one; the sentence is null where that went well.
static const char *load_prefix(struct session *s, const void *data, size_t bytes) {
  const megcc_status_t status = megcc_cache_load(megcc_generator_cache(s->generator), data, bytes);
  if (status == MEGCC_ERR_DATA) return "it was saved by another package; give another file";
  if (status == MEGCC_ERR_SIZE) return "it has more tokens than the capacity; give --capacity";
  if (status != MEGCC_OK) return "it is no saved sequence, or a damaged one; give another file";
  return NULL;
}

// The first tokens of the sequence, to be freed; null where there are not as many.
static void *saved_prefix(const struct session *s, uint32_t length, size_t *bytes) {
  const megcc_cache_t *const cache = megcc_generator_cache(s->generator);
  void *data;
  if (megcc_cache_saved_bytes(cache, length, bytes) != MEGCC_OK) return NULL;
  data = malloc(*bytes);
  if (data == NULL) fail("there is no memory for it", "a saved sequence");
  check(megcc_cache_save(cache, length, data, *bytes), "a saved sequence");
  return data;
}

// Begins with the file of --prefix-cache: if there is none, the first prompt will be saved there.
static void open_prefix(struct session *s) {
  FILE *const file = s->prefix != NULL ? fopen(s->prefix, "rb") : NULL;
  const char *why;
  void *data;
  size_t bytes;
  if (file == NULL) return;
  data = read_all(file, &bytes);
  fclose(file);
  why = load_prefix(s, data, bytes);
  if (why != NULL) fail(why, s->prefix);
  free(data);
  s->prefix = NULL;
}

static void save_prefix(struct session *s, uint32_t length) {
  size_t bytes;
  void *const data = saved_prefix(s, length, &bytes);
  FILE *const file = fopen(s->prefix, "wb");
  int is_written = file != NULL && data != NULL && fwrite(data, 1, bytes, file) == bytes;
  if (file != NULL && fclose(file) != 0) is_written = 0;
  if (!is_written) {
    if (file != NULL) (void)remove(s->prefix);
    fail("cannot be written", s->prefix);
  }
  free(data);
  s->prefix = NULL;
}

static void *memory_for(struct session *s, size_t bytes) {
  const size_t need = megcc_encode_bytes(&s->tokenizer, bytes);
  if (need > s->work_bytes) {
    s->work = allocate(need);
    s->work_bytes = need;
  }
  return s->work;
}

// Generates behind a text; the sentence is null where that went well.
static const char *go_on(struct session *s, const char *text, size_t bytes, megcc_token_fn take,
                         void *user, megcc_generation_t *what) {
  static char sentence[160];
  void *const work = memory_for(s, bytes);
  size_t count = 0;
  megcc_status_t status = megcc_encode(&s->tokenizer, text, bytes, s->flags, work, s->work_bytes,
                                       s->tokens, s->capacity, &count);
  if (status == MEGCC_ERR_DATA) return "the prompt is not UTF-8";
  if (status == MEGCC_ERR_SIZE) {
    snprintf(sentence, sizeof sentence,
             "the prompt has %lu tokens, the capacity is %lu; give --capacity",
             (unsigned long)count, s->capacity);
    return sentence;
  }
  if (status == MEGCC_OK && count == 0) return "the prompt has no tokens";
  memset(what, 0, sizeof *what);
  what->prompt = s->tokens;
  what->prompt_count = count;
  what->most = (uint32_t)s->most;
  what->stops = s->stops;
  what->stop_count = s->n_stops;
  what->take = take;
  what->user = user;
  s->made = 0;
  s->began = s->first = now_ms();
  if (status == MEGCC_OK) status = megcc_generate(s->generator, &s->sampler, what);
  s->ended = now_ms();
  if (s->made == 0) s->first = s->ended;
  if (status == MEGCC_OK && s->prefix != NULL) save_prefix(s, (uint32_t)count);
  if (status == MEGCC_ERR_INDEX) return "a token is outside of the model's vocabulary";
  return status == MEGCC_OK ? NULL : megcc_status_string(status);
}

static void count_token(struct session *s, int32_t token) {
  if (token < 0) return;
  if (s->made++ == 0) s->first = now_ms();
}

static double rate(double count, double ms) { return ms > 0 ? 1e3 * count / ms : 0; }

// ---- a text -----------------------------------------------------------------------------------

static int print_token(void *user, int32_t token, const char *text, size_t bytes) {
  count_token((struct session *)user, token);
  fwrite(text, 1, bytes, stdout);
  fflush(stdout);
  return 0;
}

static void print_times_of(const struct session *s, const megcc_generation_t *what) {
  const double prompt = (double)(what->prompt_count - what->kept);
  fprintf(stderr, "prompt: %.0f tokens, %.1f tokens/s; decode: %lu tokens, %.1f tokens/s\n", prompt,
          rate(prompt, s->first - s->began), s->made,
          rate(s->made > 0 ? (double)(s->made - 1) : 0, s->ended - s->first));
}

static void complete(struct session *s) {
  megcc_generation_t what;
  size_t bytes = s->prompt != NULL ? strlen(s->prompt) : 0;
  const char *const text = s->prompt != NULL ? s->prompt : read_all(stdin, &bytes);
  const char *why;
  s->flags = MEGCC_ENCODE_AROUND;
  why = go_on(s, text, bytes, print_token, s, &what);
  if (why != NULL) fail(why, NULL);
  printf("\n");
  fflush(stdout);
  print_times_of(s, &what);
}

// ---- a conversation ----------------------------------------------------------------------------

struct conversation {
  struct session *s;
  char *text;
  size_t bytes, room;
};

static void append_text(struct conversation *c, const char *text, size_t bytes) {
  if (bytes > c->room - c->bytes) {
    char *larger;
    c->room = 2 * (c->bytes + bytes);
    larger = (char *)allocate(c->room);
    memcpy(larger, c->text, c->bytes);
    c->text = larger;
  }
  memcpy(c->text + c->bytes, text, bytes);
  c->bytes += bytes;
}

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void append_message(struct conversation *c, megcc_role_text_t before, const char *text,
                           size_t bytes, megcc_role_text_t after) {
  size_t around;
  const char *piece = megcc_role_text(&c->s->tokenizer, before, &around);
  append_text(c, piece, around);
  if (megcc_roles_trim(&c->s->tokenizer)) {
    while (bytes > 0 && is_space(text[bytes - 1])) --bytes;
    for (; bytes > 0 && is_space(*text); --bytes) ++text;
  }
  append_text(c, text, bytes);
  piece = megcc_role_text(&c->s->tokenizer, after, &around);
  append_text(c, piece, around);
}

// What the model says becomes part of the conversation.
static int take_answer(void *user, int32_t token, const char *text, size_t bytes) {
  struct conversation *const c = (struct conversation *)user;
  append_text(c, text, bytes);
  return print_token(c->s, token, text, bytes);
}

static void converse(struct session *s) {
  static char line[LINE];
  struct conversation c;
  size_t around;
  const char *piece;
  if (megcc_role_text(&s->tokenizer, MEGCC_BEFORE_USER, &around) == NULL) {
    fail("this package has no texts around messages; use tvmc chat", "--chat");
  }
  memset(&c, 0, sizeof c);
  c.s = s;
  c.room = LINE;
  c.text = (char *)allocate(c.room);
  if (s->system == NULL) {
    piece = megcc_role_text(&s->tokenizer, MEGCC_BEGIN, &around);
    append_text(&c, piece, around);
  } else if (megcc_role_text(&s->tokenizer, MEGCC_BEFORE_SYSTEM, &around) == NULL) {
    fail("this model takes no message of a system", "--system");
  } else {
    append_message(&c, MEGCC_BEFORE_SYSTEM, s->system, strlen(s->system), MEGCC_AFTER_SYSTEM);
  }
  while (fgets(line, sizeof line, stdin) != NULL) {
    megcc_generation_t what;
    const char *why;
    append_message(&c, MEGCC_BEFORE_USER, line, strcspn(line, "\n"), MEGCC_AFTER_USER);
    piece = megcc_role_text(&s->tokenizer, MEGCC_BEFORE_ASSISTANT, &around);
    append_text(&c, piece, around);
    why = go_on(s, c.text, c.bytes, take_answer, &c, &what);
    if (why != NULL) fail(why, NULL);
    piece = megcc_role_text(&s->tokenizer, MEGCC_AFTER_ASSISTANT, &around);
    append_text(&c, piece, around);
    printf("\n");
    fflush(stdout);
    print_times_of(s, &what);
  }
}

// ---- requests ----------------------------------------------------------------------------------

static int send_token(void *user, int32_t token, const char *text, size_t bytes) {
  count_token((struct session *)user, token);
  printf("token %ld %lu\n", (long)token, (unsigned long)bytes);
  fwrite(text, 1, bytes, stdout);
  return fflush(stdout) != 0;
}

static char *read_bytes(unsigned long bytes) {
  char *const data = (char *)malloc(bytes + 1);
  if (data == NULL || fread(data, 1, bytes, stdin) != bytes)
    fail("a request is cut off", "--serve");
  return data;
}

// `save N`: the first N tokens of the sequence; `load N`: a saved sequence of N bytes behind it.
static int serve_prefix(struct session *s, const char *line) {
  unsigned long number;
  if (sscanf(line, "save %lu", &number) == 1) {
    size_t bytes = 0;
    void *const data = number <= UINT32_MAX ? saved_prefix(s, (uint32_t)number, &bytes) : NULL;
    if (data == NULL) {
      printf("error the sequence has no %lu tokens\n", number);
    } else {
      printf("saved %lu\n", (unsigned long)bytes);
      fwrite(data, 1, bytes, stdout);
    }
    free(data);
  } else if (sscanf(line, "load %lu", &number) == 1) {
    char *const data = read_bytes(number);
    const char *const why = load_prefix(s, data, number);
    free(data);
    if (why != NULL) {
      printf("error %s\n", why);
    } else {
      printf("loaded %lu\n",
             (unsigned long)megcc_cache_length(megcc_generator_cache(s->generator)));
    }
  } else {
    return 0;
  }
  fflush(stdout);
  return 1;
}

// A request: a line with settings and the bytes of a prompt, and these. An answer: `token` lines,
// each with bytes behind it, and a line `end` or `error`.
static void serve(struct session *s) {
  static const char *const kEnds[] = {"most", "stop", "capacity", "caller"};
  char line[512];
  printf("ready %lu %lu\n", s->capacity, (unsigned long)s->bytes);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    megcc_sampler_t *const p = &s->sampler;
    unsigned long bytes, flags;
    unsigned long long seed;
    long top_k;
    megcc_generation_t what;
    const char *why;
    char *text;
    if (serve_prefix(s, line)) continue;
    if (sscanf(line, "%lu %f %ld %f %f %f %llu %lu %lu", &s->most, &p->temperature, &top_k,
               &p->top_p, &p->min_p, &p->repetition_penalty, &seed, &flags, &bytes) != 9) {
      fail("a request is not of 9 numbers", "--serve");
    }
    p->top_k = (int32_t)top_k;
    p->seed = seed;
    p->draws = 0;
    s->flags = (uint32_t)flags;
    text = read_bytes(bytes);
    why = go_on(s, text, bytes, send_token, s, &what);
    free(text);
    if (why != NULL) {
      printf("error %s\n", why);
    } else {
      printf("end %s %lu %lu %.6f %lu %.6f\n", kEnds[what.finished],
             (unsigned long)what.prompt_count, (unsigned long)what.kept, s->first - s->began,
             s->made, s->ended - s->first);
    }
    fflush(stdout);
  }
}

int generate(int argc, char **argv, const char *argv0) {
  static struct session s;
  s.o.threads = 1;
  s.most = 128;
  s.capacity = 1024;
  s.chunk = 64;
  parse_options(&s, argc, argv);
  open_model(&s, argv0);
  open_prefix(&s);
  if (s.serve) {
    serve(&s);
  } else if (s.chat) {
    converse(&s);
  } else {
    complete(&s);
  }
  return 0;
}
