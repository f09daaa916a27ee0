#pragma once

namespace ulpscope {

// diff/render/report/style.css and list.js, put into the program when it is built.
extern const char kReportStyle[];
extern const char kReportScript[];

}  // namespace ulpscope
