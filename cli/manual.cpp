#include "cli/manual.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <sstream>
#include <vector>

#include "cli/verb.h"

namespace ulpscope {
namespace {

struct Flag {
  std::string names;  ///< "-o,--output"
  std::vector<std::string> spelled;
  std::string description;
  bool takesValue = false;
  bool positional = false;
};

/// A verb, or one of its subcommands ("gate check").
struct Command {
  std::string name;
  std::string summary;
  std::vector<Flag> flags;
};

void collect(const CLI::App& app, const std::string& name, const std::string& summary,
             std::vector<Command>& out) {
  Command command{name, summary, {}};
  for (const CLI::Option* option : app.get_options()) {
    Flag flag;
    flag.positional = option->get_positional();
    flag.names = option->get_name(false, true);
    for (const std::string& each : option->get_snames()) flag.spelled.push_back("-" + each);
    for (const std::string& each : option->get_lnames()) flag.spelled.push_back("--" + each);
    flag.description = option->get_description();
    flag.takesValue = option->get_items_expected_max() > 0;
    command.flags.push_back(std::move(flag));
  }
  out.push_back(std::move(command));
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    collect(*each, name + " " + each->get_name(), each->get_description(), out);
  }
}

std::vector<Command> commands(const Verb& verb) {
  std::vector<Command> found;
  CLI::App app;
  const Action keptAlive = verb.define(app);
  collect(app, verb.name, verb.summary, found);
  return found;
}

/// Text as troff takes it for text.
std::string troff(std::string_view text) {
  std::string out;
  bool lineStart = true;
  for (const char c : text) {
    if (lineStart && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
    lineStart = c == '\n';
  }
  return out;
}

std::string shellWord(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string joinedFlags(const Command& command) {
  std::string out;
  for (const Flag& flag : command.flags) {
    for (const std::string& each : flag.spelled) out += (out.empty() ? "" : " ") + each;
  }
  return out;
}

void writeBash(std::ostream& out) {
  out << "# bash completion of ulpscope, made of its help\n_ulpscope() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} flags= sub=\n"
         "  COMPREPLY=()\n  local i\n"
         "  for ((i = 2; i < COMP_CWORD; ++i)); do\n"
         "    if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
         "      COMPREPLY=($(compgen -c -f -- \"$word\")); return\n    fi\n  done\n"
         "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '";
  for (const Verb& verb : verbs()) out << verb.name << ' ';
  out << "help --help --version' -- \"$word\")); return\n  fi\n"
         "  if [[ $word != -* && $verb == help ]]; then\n    COMPREPLY=($(compgen -W '";
  for (const Verb& verb : verbs()) out << verb.name << ' ';
  out << "' -- \"$word\")); return\n  fi\n  case \"$verb ${COMP_WORDS[2]}\" in\n";
  std::vector<Command> all;
  for (const Verb& verb : verbs()) {
    const std::vector<Command> own = commands(verb);
    all.insert(all.end(), own.begin(), own.end());
  }
  // Subcommands first: their pattern is the narrower one.
  for (const bool narrow : {true, false}) {
    for (const Command& each : all) {
      if ((each.name.find(' ') != std::string::npos) != narrow) continue;
      std::string subs;
      for (const Command& other : all) {
        if (other.name.starts_with(each.name + " ")) subs += other.name.substr(each.name.size() + 1) + " ";
      }
      fmt::print(out, "    '{}'{}) flags='{}'", each.name, narrow ? "" : "' '*", joinedFlags(each));
      if (!subs.empty()) fmt::print(out, " sub='{}'", subs);
      out << " ;;\n";
    }
  }
  out << "  esac\n  if [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "  elif [[ -n $sub && $COMP_CWORD == 2 ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$sub\" -- \"$word\"))\n"
         "  else\n    COMPREPLY=($(compgen -f -- \"$word\"))\n    compopt -o filenames 2>/dev/null\n  fi\n}\n"
         "complete -F _ulpscope ulpscope\n";
}

void writeZsh(std::ostream& out) {
  // zsh runs bash's function: one completion to keep right.
  out << "#compdef ulpscope\nautoload -U +X bashcompinit && bashcompinit\n";
  writeBash(out);
}

void writeFish(std::ostream& out) {
  out << "# fish completion of ulpscope, made of its help\n";
  for (const Verb& verb : verbs()) {
    fmt::print(out, "complete -c ulpscope -n __fish_use_subcommand -a {} -d {}\n", verb.name,
               shellWord(verb.summary));
  }
  for (const Verb& verb : verbs()) {
    for (const Command& each : commands(verb)) {
      std::string condition;
      std::istringstream words(each.name);
      for (std::string part; words >> part;) {
        condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + part);
      }
      if (each.name != verb.name) {
        fmt::print(out, "complete -c ulpscope -n '__fish_seen_subcommand_from {}' -a {} -d {}\n", verb.name,
                   each.name.substr(std::string_view(verb.name).size() + 1), shellWord(each.summary));
      }
      for (const Flag& flag : each.flags) {
        std::string spelled;
        for (const std::string& name : flag.spelled) {
          spelled += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        }
        if (spelled.empty()) continue;
        fmt::print(out, "complete -c ulpscope -n '{}'{}{} -d {}\n", condition, spelled,
                   flag.takesValue ? " -r" : "", shellWord(flag.description));
      }
    }
  }
}

}  // namespace

void writeManPage(std::ostream& out) {
  fmt::print(out, ".TH ULPSCOPE 1 \"\" \"ulpscope {}\" \"User Commands\"\n", ULPSCOPE_VERSION);
  out << ".SH NAME\nulpscope \\- find the op at which two runs of a PyTorch or LibTorch program part\n"
         ".SH SYNOPSIS\n.B ulpscope\n.I VERB\n[\\fIflags\\fR] [\\-\\- \\fICOMMAND\\fR...]\n"
         ".SH DESCRIPTION\nRecords every op that a program's dispatcher runs, with fingerprints of its tensors; "
         "aligns two such recordings; and names the first op whose inputs agree and whose outputs do not.\n"
         ".SH VERBS\n";
  for (const Verb& verb : verbs()) {
    for (const Command& command : commands(verb)) {
      fmt::print(out, ".SS {}{}\n{}.\n", troff(command.name),
                 verb.takesCommand && command.name == verb.name ? " ... \\-\\- COMMAND..." : "",
                 troff(command.summary));
      for (const Flag& flag : command.flags) {
        fmt::print(out, ".TP\n\\fB{}\\fR\n{}\n", troff(flag.names), troff(flag.description));
      }
    }
    fmt::print(out, ".PP\nExamples:\n.nf\n{}\n.fi\n", troff(verb.examples));
  }
  out << ".SH EXIT STATUS\nOf diff and gate check: 0 the runs agree, 1 numbers differ, 3 structure differs, "
         "4 not comparable. 2 is a usage or tool error of any verb. record gives back the command's own.\n"
         ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nturns colour off.\n";
}

bool writeCompletion(const std::string& shell, std::ostream& out) {
  if (shell == "bash") writeBash(out);
  else if (shell == "zsh") writeZsh(out);
  else if (shell == "fish") writeFish(out);
  else return false;
  return true;
}

}  // namespace ulpscope
