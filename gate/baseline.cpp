#include "gate/baseline.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <ostream>
#include <sstream>

#include "store/error.h"

namespace ulpscope::gate {
namespace {

constexpr std::string_view kMagic = "ulpscope gate baseline ";

/// How many lines of `now` are not `before`'s; more than half: another structure altogether.
bool isNear(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  if (before.size() != now.size()) return false;
  size_t changed = 0;
  for (size_t i = 0; i < now.size(); ++i) changed += before[i] != now[i];
  return changed * 2 <= now.size();
}

std::string schemaLine(const Schema& schema) {
  std::string line = "schema " + word(schema.name) + " " + word(schema.overload);
  for (const std::string& argument : schema.arguments) line += " " + word(argument);
  line += " >";
  for (const std::string& result : schema.returns) line += " " + word(result);
  return line;
}

/// Splits a text into lines without copying it.
class Lines {
 public:
  Lines(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const size_t end = rest_.find('\n');
    if (end == std::string_view::npos) fail("the last line is cut short");
    line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    ++number_;
    return true;
  }
  std::string_view expect(std::string_view what) {
    std::string_view line;
    if (!next(line)) fail("ends where " + std::string(what) + " should follow");
    return line;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw TraceError(TraceError::Code::corrupt,
                     name_ + ", line " + std::to_string(number_) + ": " + why +
                         "; take the file from version control again, or record the gate anew");
  }

 private:
  std::string_view rest_;
  const std::string& name_;
  int64_t number_ = 0;
};

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

int64_t number(const Lines& lines, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    lines.fail("'" + std::string(text.substr(0, 20)) + "' is not a number");
  }
  return value;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : lines_(text, name), name_(name) {}

  Baseline parse() {
    header();
    std::string_view line;
    bool ended = false;
    while (lines_.next(line)) {
      if (ended) lines_.fail("something follows the end");
      const std::vector<std::string_view> words = split(line);
      if (words.empty()) lines_.fail("an empty line");
      if (words[0] == "command") {
        for (size_t i = 1; i < words.size(); ++i) result_.command.push_back(unword(words[i]));
      } else if (words[0] == "environment" && words.size() == 3) {
        result_.environment.push_back({unword(words[1]), unword(words[2])});
      } else if (words[0] == "schema") {
        schema(words);
      } else if (words[0] == "step") {
        section(words);
      } else if (words[0] == "end" && words.size() == 2) {
        result_.complete = words[1] == "complete";
        ended = true;
      } else {
        lines_.fail("'" + std::string(line.substr(0, 40)) + "' is no line of a baseline");
      }
    }
    if (!ended) lines_.fail("the end is missing");
    return std::move(result_);
  }

 private:
  void header() {
    const std::string_view line = lines_.expect("the first line");
    if (!line.starts_with(kMagic)) lines_.fail("this is no baseline of a gate");
    if (number(lines_, line.substr(kMagic.size())) != kBaselineVersion) {
      throw TraceError(TraceError::Code::newer,
                       name_ + ": written by another version of ulpscope (" + std::string(line) +
                           "); use that one, or record the gate anew");
    }
  }

  void schema(const std::vector<std::string_view>& words) {
    if (words.size() < 4) lines_.fail("a schema has a name, an overload, arguments and returns");
    Schema schema;
    schema.name = unword(words[1]);
    schema.overload = unword(words[2]);
    std::vector<std::string>* to = &schema.arguments;
    for (size_t i = 3; i < words.size(); ++i) {
      if (words[i] == ">") to = &schema.returns;
      else to->push_back(unword(words[i]));
    }
    result_.schemas.push_back(std::move(schema));
  }

  /// "step N ops COUNT" and COUNT lines, or "step N like CHANGED" and CHANGED lines "=INDEX line";
  /// then "values" and a line an op.
  void section(const std::vector<std::string_view>& words) {
    if (words.size() != 4) lines_.fail("a step is written 'step N ops COUNT' or 'step N like COUNT'");
    Section section;
    section.step = int32_t(number(lines_, words[1]));
    const int64_t count = number(lines_, words[3]);
    if (count < 0) lines_.fail("a negative count");
    if (words[2] == "ops") {
      for (int64_t i = 0; i < count; ++i) section.structure.emplace_back(lines_.expect("an op"));
    } else if (words[2] == "like") {
      if (result_.sections.empty()) lines_.fail("there is no step before this one");
      section.structure = result_.sections.back().structure;
      for (int64_t i = 0; i < count; ++i) {
        const std::string_view line = lines_.expect("a changed op");
        const size_t space = line.find(' ');
        if (!line.starts_with('=') || space == std::string_view::npos) lines_.fail("not '=INDEX OP'");
        const int64_t index = number(lines_, line.substr(1, space - 1));
        if (index < 0 || size_t(index) >= section.structure.size()) lines_.fail("no such op");
        section.structure[size_t(index)] = line.substr(space + 1);
      }
    } else {
      lines_.fail("'" + std::string(words[2].substr(0, 20)) + "' is neither ops nor like");
    }
    if (lines_.expect("'values'") != "values") lines_.fail("'values' should stand here");
    section.values.reserve(section.structure.size());
    for (size_t i = 0; i < section.structure.size(); ++i) {
      section.values.emplace_back(lines_.expect("the values of an op"));
    }
    result_.sections.push_back(std::move(section));
  }

  Lines lines_;
  const std::string& name_;
  Baseline result_;
};

}  // namespace

int64_t Baseline::ops() const {
  int64_t count = 0;
  for (const Section& section : sections) count += int64_t(section.structure.size());
  return count;
}

bool Baseline::sameRun(const Baseline& other) const {
  return complete == other.complete &&
         std::equal(sections.begin(), sections.end(), other.sections.begin(), other.sections.end(),
                    [](const Section& x, const Section& y) {
                      return x.step == y.step && x.values == y.values && x.structure == y.structure;
                    });
}

void write(const Baseline& baseline, std::ostream& out) {
  out << kMagic << kBaselineVersion << '\n';
  if (!baseline.command.empty()) {
    out << "command";
    for (const std::string& argument : baseline.command) out << ' ' << word(argument);
    out << '\n';
  }
  for (const KeyValue& each : baseline.environment) {
    out << "environment " << word(each.key) << ' ' << word(each.value) << '\n';
  }
  for (const Schema& schema : baseline.schemas) out << schemaLine(schema) << '\n';
  const Section* before = nullptr;
  for (const Section& section : baseline.sections) {
    if (before != nullptr && isNear(before->structure, section.structure)) {
      std::string changed;
      size_t count = 0;
      for (size_t i = 0; i < section.structure.size(); ++i) {
        if (section.structure[i] == before->structure[i]) continue;
        changed += "=" + std::to_string(i) + " " + section.structure[i] + "\n";
        ++count;
      }
      out << "step " << section.step << " like " << count << '\n' << changed;
    } else {
      out << "step " << section.step << " ops " << section.structure.size() << '\n';
      for (const std::string& line : section.structure) out << line << '\n';
    }
    out << "values\n";
    for (const std::string& line : section.values) out << line << '\n';
    before = &section;
  }
  out << "end " << (baseline.complete ? "complete" : "cut") << '\n';
}

Baseline parse(std::string_view text, const std::string& name) { return Parser(text, name).parse(); }

Baseline readBaseline(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    throw TraceError(TraceError::Code::missing, path + ": can't be read; check the path");
  }
  const std::string content = std::move(text).str();
  return parse(content, path);
}

namespace {

/// Calls f with the words of each line before the first op's.
template <class F>
void eachHeadLine(const std::string& path, F&& f) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  if (!std::getline(in, line) || !line.starts_with(kMagic)) return;
  while (std::getline(in, line) && !line.starts_with("schema ") && !line.starts_with("step ")) {
    f(split(line));
  }
}

}  // namespace

std::vector<KeyValue> readEnvironment(const std::string& path) {
  std::vector<KeyValue> environment;
  eachHeadLine(path, [&](const std::vector<std::string_view>& words) {
    if (words.size() == 3 && words[0] == "environment") {
      environment.push_back({unword(words[1]), unword(words[2])});
    }
  });
  return environment;
}

std::vector<std::string> readCommand(const std::string& path) {
  std::vector<std::string> command;
  eachHeadLine(path, [&](const std::vector<std::string_view>& words) {
    for (size_t i = 1; i < words.size() && words[0] == "command"; ++i) command.push_back(unword(words[i]));
  });
  return command;
}

std::string word(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  if (text.empty()) return "%";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte != 0x7F && c != '%') {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::string unword(std::string_view text) {
  if (text == "%") return {};
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      out += char(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace ulpscope::gate
