// Runs GEMM designs on the NPU: gemm [DIR...]. Each DIR [default: .] holds layout.txt, insts.bin and operands.bin of one
// size. All sizes run on gemm.xclbin of the first DIR, whose array is configured once. Times each size, compares C, and
// returns 1 if an element is wrong, 2 if a size could not run.
//
// Build: cmake -B build && cmake --build build
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_hw_context.h>
#include <xrt/xrt_kernel.h>
#include <xrt/xrt_uuid.h>
#if __has_include(<xrt/experimental/xrt_xclbin.h>)
#include <xrt/experimental/xrt_xclbin.h>
#else // before 2025
#include <experimental/xrt_xclbin.h>
#endif

namespace {

@CHECK@
constexpr int RUNS = 20, OPCODE = 3;

using bytes = std::vector<unsigned char>;

bytes read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return bytes(std::istreambuf_iterator<char>(file), {});
}

// layout.txt: one key and its numbers or words a line.
struct layout {
  std::string problem, configuration;
  double operations = 0;
  std::vector<unsigned long> sizes; // bytes of A, B, C, and a page of zeros if the design needs one
  unsigned long given[2] = {0, 0};  // places of A and B in operands.bin
  tw_checked c = {};
};

layout read_layout(const std::string &directory) {
  layout l;
  std::ifstream file(directory + "/layout.txt");
  std::string key;
  unsigned long number;
  while (file >> key) {
    std::string type;
    if (key == "problem") std::getline(file >> std::ws, l.problem);
    else if (key == "configuration") file >> l.configuration;
    else if (key == "operations") file >> l.operations;
    else if (key == "given") file >> l.given[0] >> l.given[1];
    else if (key == "type") file >> type >> l.c.element_bytes;
    else if (key == "expected") file >> l.c.expected_at >> l.c.places;
    else if (key == "size" && file >> number) l.sizes.push_back(number);
    else throw std::runtime_error(directory + "/layout.txt: unknown line '" + key + "'");
    if (!type.empty()) l.c.type = type[0];
  }
  if (l.sizes.size() < 3) throw std::runtime_error(directory + "/layout.txt: cannot be read, or has fewer than 3 sizes");
  l.c.bytes = l.sizes[2];
  return l;
}

// True if C is right, or not compared.
bool run(const std::string &directory, const layout &l, xrt::device &device, xrt::kernel &kernel) {
  const bytes program = read_file(directory + "/insts.bin"), operands = read_file(directory + "/operands.bin");
  xrt::bo instructions(device, program.size(), xrt::bo::flags::cacheable, kernel.group_id(1));
  instructions.write(program.data(), program.size(), 0);
  instructions.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  std::vector<xrt::bo> memory;
  for (size_t i = 0; i < l.sizes.size(); i++) {
    bytes data(l.sizes[i], i == 2 ? 0xFF : 0);
    if (i < 2) {
      if (l.given[i] + l.sizes[i] > operands.size()) throw std::runtime_error(directory + "/operands.bin: too short");
      std::copy_n(operands.begin() + (long)l.given[i], data.size(), data.begin());
    }
    memory.emplace_back(device, data.size(), xrt::bo::flags::host_only, kernel.group_id(3 + (int)i));
    memory.back().write(data.data(), data.size(), 0);
    memory.back().sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  double best = 1e30;
  for (int i = 0; i < RUNS; i++) {
    xrt::run call(kernel);
    call.set_arg(0, OPCODE);
    call.set_arg(1, instructions);
    call.set_arg(2, (int)(program.size() / 4));
    for (size_t j = 0; j < memory.size(); j++) call.set_arg(3 + (int)j, memory[j]);
    const auto start = std::chrono::steady_clock::now();
    call.start();
    const auto state = call.wait();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (state != ERT_CMD_STATE_COMPLETED)
      throw std::runtime_error(directory + ": the NPU returned state " + std::to_string((int)state));
  }
  std::printf("%s: %.0f us, %.2f Tflop/s", l.problem.c_str(), best * 1e6, l.operations / best * 1e-12);
  long wrong = -1;
  if (l.c.type) {
    const size_t expected = l.c.places ? l.c.places * 3 * sizeof(double) : l.sizes[2];
    if (l.c.expected_at + expected > operands.size()) throw std::runtime_error(directory + "/operands.bin: too short");
    bytes c(l.sizes[2]);
    memory[2].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    memory[2].read(c.data(), c.size(), 0);
    wrong = tw_first_wrong(&l.c, operands.data() + l.c.expected_at, c.data());
    if (wrong < 0)
      std::printf(", right");
    else
      std::printf(", WRONG: element %ld of C, counted in memory", wrong);
  }
  std::printf("\n");
  return wrong < 0;
}

int run_all(const std::vector<std::string> &directories) {
  std::vector<layout> layouts;
  for (const std::string &d : directories) {
    layouts.push_back(read_layout(d));
    if (layouts.back().configuration != layouts[0].configuration)
      throw std::runtime_error(d + ": requires a different configuration of the array than " + directories[0] +
                               "; emit both with the same schedule, with the step runtime_sizes");
  }
  xrt::device device(0);
  const xrt::xclbin xclbin(directories[0] + "/gemm.xclbin");
  device.register_xclbin(xclbin);
  xrt::hw_context context(device, xclbin.get_uuid());
  xrt::kernel kernel(context, "MLIR_AIE");
  bool right = true;
  for (size_t i = 0; i < directories.size(); i++) right = run(directories[i], layouts[i], device, kernel) && right;
  return right ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> directories(argv + 1, argv + argc);
  if (directories.empty()) directories.push_back(".");
  try {
    return run_all(directories);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "gemm: %s\n", e.what());
    return 2;
  }
}
