#include "cli/verb.h"

namespace ulpscope {
namespace {

constexpr Verb kVerbs[] = {
    {"record", "run a command and record every op that its dispatcher runs",
     "  ulpscope record -- python train.py\n"
     "  ulpscope record -o eager.ulps --stacks -- python train.py --epochs 1\n"
     "  ulpscope record -o native.ulps -- ./train",
     true, defineRecord},
    {"diff", "name the first op at which two traces part",
     "  ulpscope diff eager.ulps compiled.ulps\n"
     "  ulpscope diff before.ulps after.ulps --rtol 1e-6 --noise before-again.ulps\n"
     "  ulpscope diff a.ulps b.ulps --format=json -o diff.json",
     false, defineDiff},
    {"explain", "tell why an op got its label, and where what it inherits began",
     "  ulpscope explain eager.ulps compiled.ulps 107\n"
     "  ulpscope explain eager.ulps compiled.ulps 98 --of-b",
     false, defineExplain},
    {"repeat", "run a command several times and list the ops that are not deterministic",
     "  ulpscope repeat -n 5 -- python train.py\n"
     "  ulpscope repeat -n 3 -o runs --format=json -- ./train",
     true, defineRepeat},
    {"show", "print the ops of a trace as an indented tree",
     "  ulpscope show run.ulps\n"
     "  ulpscope show run.ulps --step 0 --module 'transformer.h.0*' --operands\n"
     "  ulpscope show run.ulps --op 'aten::mm*' --format=json",
     false, defineShow},
    {"values", "compare the captured values of two operands, element by element",
     "  ulpscope values eager.ulps 31 compiled.ulps 22:after1\n"
     "  ulpscope values run.ulps 22:before0 run.ulps 22:after0 --by ulps --format=json",
     false, defineValues},
    {"check", "run a command once and compare its compiled kernels with eager",
     "  ulpscope check -- python train.py --compile\n"
     "  ulpscope check -o run.ulps --format=json -- python train.py --compile",
     true, defineCheck},
    {"microscope", "tell which op inside a compiled kernel departs from eager",
     "  ulpscope microscope compiled.ulps 22\n"
     "  ulpscope microscope compiled.ulps 22 --format=json",
     false, defineMicroscope},
    {"extract", "write the op that departs with its operands and a script that shows it alone",
     "  ulpscope extract compiled.ulps 22 -o repro && python repro/repro.py",
     false, defineExtract},
    {"ranks", "tell whether the ranks of one run agree where they must",
     "  ulpscope ranks run/\n"
     "  ulpscope ranks run/ --format=json",
     false, defineRanks},
    {"bisect", "find the setting or the part of the compiler that a divergence comes with",
     "  ulpscope bisect -- python train.py --compile",
     true, defineBisect},
    {"view", "open one or two traces in the desktop viewer",
     "  ulpscope view eager.ulps compiled.ulps", false, defineView},
    {"gate", "compare a run with accepted baselines, and fail where its numbers moved",
     "  ulpscope gate record -- python train.py\n"
     "  ulpscope gate check\n"
     "  ulpscope gate check --format=github --report html=gate.html -- python train.py\n"
     "  ulpscope gate accept --reason 'a faster layer norm'",
     true, defineGate},
    {"doctor", "tell what works here and what does not",
     "  ulpscope doctor\n"
     "  ulpscope doctor --python /path/to/venv/bin/python",
     false, defineDoctor},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace ulpscope
