// Reads a .npy file (format 1.0, C order, little-endian float32 or int64) into an owned Array.
// Enough for the demo's data; not a general reader.
#ifndef JITFUSE_EXAMPLES_NPY_H_
#define JITFUSE_EXAMPLES_NPY_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "jitfuse/jitfuse.h"

inline jitfuse::StatusOr<jitfuse::Array> LoadNpy(const std::string& path) {
  using jitfuse::Status;
  using jitfuse::StatusCode;
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file && bytes.empty()) return Status(StatusCode::kNotFound, "cannot read " + path);
  if (bytes.size() < 10 || bytes.compare(0, 6, "\x93NUMPY") != 0 || bytes[6] != 1) {
    return Status(StatusCode::kInvalidArgument, path + ": expected a .npy file of format 1.0");
  }
  std::size_t header_end =
      10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  std::string header = bytes.substr(10, header_end - 10);
  bool is_f32 = header.find("'<f4'") != std::string::npos,
       is_i64 = header.find("'<i8'") != std::string::npos;
  if ((!is_f32 && !is_i64) || header.find("'fortran_order': False") == std::string::npos) {
    return Status(StatusCode::kInvalidArgument, path + ": expected float32 or int64 in C order");
  }
  std::vector<std::int64_t> dims;
  std::size_t open = header.find("'shape': (");
  const char* at = header.c_str() + (open == std::string::npos ? header.size() : open + 10);
  while (*at != ')' && *at != '\0') {
    char* end = nullptr;
    dims.push_back(std::strtoll(at, &end, 10));
    if (end == at) break;
    at = end;
    while (*at == ',' || *at == ' ') ++at;
  }
  auto array = jitfuse::Array::Empty(is_f32 ? jitfuse::DType::kF32 : jitfuse::DType::kI64, dims);
  if (!array.ok()) return array;
  std::size_t expected = static_cast<std::size_t>(array->num_elements()) * (is_f32 ? 4 : 8);
  if (header_end > bytes.size() || bytes.size() - header_end != expected) {
    return Status(StatusCode::kInvalidArgument, path + ": its size does not fit its shape");
  }
  std::memcpy(array->data(), bytes.data() + header_end, expected);
  return array;
}

#endif  // JITFUSE_EXAMPLES_NPY_H_
