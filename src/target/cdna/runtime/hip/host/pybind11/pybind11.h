/* pybind11.h - what the Python binding of a kernel needs to compile for the device, where none of it runs. The module stays a
 * function with its body, because the binding is often all that instantiates a template of a kernel. */
#pragma once
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace pybind11 {
struct object {
  template <class T> T cast() const;
  object attr(const char *) const;
  object operator[](std::size_t) const;
  template <class... T> object operator()(T &&...) const;
};
struct tuple : object {
  std::size_t size() const;
};
template <class T> T cast(const object &);
bool hasattr(const object &, const char *);
struct arg {
  explicit arg(const char *);
};
struct module_ {
  std::string &doc();
  template <class... T> module_ &def(const char *, T &&...) { return *this; }
};
} // namespace pybind11
#define PYBIND11_MODULE(NAME, VARIABLE) static void NAME(pybind11::module_ &VARIABLE)
