#include "support/watch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <utility>

#include "support/error.hpp"
#include "support/metrics.hpp"

namespace amrbench::support {

namespace {

constexpr int kCrashStatus = 1;

/// What signal handlers can reach: they get no argument.
struct Reached {
  std::atomic<std::atomic<int>*> spoken{nullptr};
  std::atomic<const Heartbeat*> heart{nullptr};
  std::atomic<int> rank{0};
  std::atomic<bool> terminated{false};  ///< SIGTERM came
};
Reached& reached() {
  static Reached instance;
  return instance;
}

/// A line in a buffer of its own: handlers must not allocate.
class Line {
 public:
  Line& operator<<(std::string_view text) {
    const std::size_t n = std::min(text.size(), text_.size() - 1 - size_);  // the last byte is for the line's end
    std::memcpy(text_.data() + size_, text.data(), n);
    size_ += n;
    return *this;
  }
  Line& operator<<(std::int64_t number) {
    std::array<char, 24> digits{};
    auto* at = digits.end();
    std::uint64_t rest = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    do *--at = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) *--at = '-';
    return *this << std::string_view(at, static_cast<std::size_t>(digits.end() - at));
  }
  /// One write, so that lines of several ranks do not mix.
  void print() {
    for (std::size_t i = 0; i < size_; ++i)
      if (static_cast<unsigned char>(text_[i]) < ' ' || text_[i] == '\x7f') text_[i] = text_[i] == '\n' ? ' ' : '?';
    text_[size_] = '\n';
    static_cast<void>(!write(STDERR_FILENO, text_.data(), size_ + 1));
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 2048> text_{};
  std::size_t size_ = 0;
};

void put_place(Line& line, int rank, const Heartbeat& heart) {
  const int phase = heart.phase.load(std::memory_order_relaxed);
  line << "rank " << std::int64_t{rank} << ", phase ";
  if (phase >= 0 && phase < static_cast<int>(kPhases))
    line << phase_name(static_cast<Phase>(phase));
  else
    line << (phase == Heartbeat::kEnd ? "end" : "start");
  line << ", step " << heart.step.load(std::memory_order_relaxed);
}

/// True for the first that asks on this node.
bool take_word() {
  std::atomic<int>* const spoken = reached().spoken.load();
  int nobody = 0;
  return spoken == nullptr || spoken->compare_exchange_strong(nobody, 1);
}

void speak_of_own_end(std::string_view why) {
  if (!take_word()) return;
  Line line;
  line << "amrbench: error: ";
  if (const Heartbeat* const heart = reached().heart.load()) {
    put_place(line, reached().rank.load(), *heart);
    line << ": ";
  }
  (line << why).print();
}

constexpr std::array<std::pair<int, std::string_view>, 5> kCrashes{{{SIGSEGV, "segmentation fault"},
                                                                    {SIGBUS, "bus error (is a disk or /dev/shm full?)"},
                                                                    {SIGFPE, "arithmetic exception"},
                                                                    {SIGILL, "illegal instruction"},
                                                                    {SIGABRT, "aborted"}}};

void on_crash(int number) {
  for (const auto& [signal_number, name] : kCrashes)
    if (signal_number == number) speak_of_own_end(name);
  raise(number);  // the handler is gone (SA_RESETHAND): dies of it
}

void on_terminate_signal(int /*number*/) {
  reached().terminated.store(true);
}

[[noreturn]] void on_terminate() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
    speak_of_own_end("std::terminate was called");
  } catch (const std::bad_alloc&) {
    speak_of_own_end(kOutOfMemory);
  } catch (const std::exception& error) {
    speak_of_own_end(error.what());
  } catch (...) {
    speak_of_own_end("an unknown exception");
  }
  _exit(kCrashStatus);
}

void handle_if_default(int number, void (*handler)(int), int flags) {
  struct sigaction action {};
  if (sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

/// The state letter of a process: R, S, D, T (stopped), Z (dead, its launcher has not looked yet); 0 when it is gone.
char process_state(int pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(in, line)) return 0;
  const std::size_t end = line.rfind(") ");
  return end == std::string::npos || end + 2 >= line.size() ? '?' : line[end + 2];
}

}  // namespace

/// A rank's part of the page.
struct Watch::Slot {
  enum State : int { absent, working, left };
  Heartbeat heart;
  std::atomic<int> pid{0};
  std::atomic<int> rank{0};
  std::atomic<int> state{absent};
};

/// The page: a flag and the slots, mapped by all ranks of a node, or by this one alone.
struct Watch::Board {
  static constexpr std::size_t kHead = 64;

  Board(const Communicator& node, std::size_t slots) : size(kHead + slots * sizeof(Slot)) {
    // A name that is gone as soon as all have opened it: nothing is left behind, however the run ends.
    std::string name;
    int file = -1;
    if (node.is_root()) {
      name = fmt::format("/amrbench-{}-{}", getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
      file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      // Memory is taken here, not at the first write, where a lack of it is SIGBUS.
      if (file >= 0 && posix_fallocate(file, 0, static_cast<off_t>(size)) != 0) close(std::exchange(file, -1));
    }
    name = broadcast_string(node, name);
    if (!node.is_root()) file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600);
    const bool shared = all_of_ranks(node, file >= 0);
    if (node.is_root()) shm_unlink(name.c_str());
    const int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    page = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, shared ? file : -1, 0);
    if (file >= 0) close(file);
    if (page == MAP_FAILED) throw std::bad_alloc();
    if (!shared) alone = true;
  }
  ~Board() { munmap(page, size); }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // The kernel's zeros are what atomics of integers begin with.
  [[nodiscard]] std::atomic<int>& spoken() const { return *static_cast<std::atomic<int>*>(page); }
  [[nodiscard]] Slot& slot(std::size_t i) const {
    return reinterpret_cast<Slot*>(static_cast<std::byte*>(page) + kHead)[i];
  }

  std::size_t size;
  void* page = nullptr;
  bool alone = false;
};

void speak_of_crashes() {
  for (const auto& [number, name] : kCrashes) handle_if_default(number, on_crash, SA_RESETHAND | SA_NODEFER);
  std::set_terminate(on_terminate);
}

Watch::Watch(const Communicator& world) : rank_(world.rank()) {
  const Communicator node = world.split_node();
  slots_ = static_cast<std::size_t>(node.size());
  mine_ = static_cast<std::size_t>(node.rank());
  board_ = std::make_unique<Board>(node, slots_);
  Slot* const slot = new (&board_->slot(mine_)) Slot;
  slot->pid.store(getpid());
  slot->rank.store(rank_);
  slot->heart.last_s.store(Metrics::steady_seconds());
  barrier(node);
  // A launcher ends the other ranks by this when one was killed: the line must be said first.
  handle_if_default(SIGTERM, on_terminate_signal, SA_RESTART);
  thread_ = std::thread([this] { run(); });
  // Last, for nothing throws from here on: where this constructor fails, its rank speaks for itself, and the others
  // must not take its end for that of one at work, nor may anything point to a page that is gone.
  reached().rank.store(rank_);
  reached().heart.store(&slot->heart);
  reached().spoken.store(&board_->spoken());
  slot->state.store(Slot::working);
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
  board_->slot(mine_).state.store(Slot::left);
  reached().spoken.store(nullptr);
  reached().heart.store(nullptr);
}

Heartbeat& Watch::heartbeat() {
  return board_->slot(mine_).heart;
}

std::string Watch::place(int rank) const {
  Line line;
  put_place(line, rank < 0 ? rank_ : rank, board_->slot(mine_).heart);
  return std::string(line.view());
}

void Watch::speak(std::string_view text) {
  if (!take_word()) return;
  Line line;
  (line << "amrbench: error: " << text).print();
}

void Watch::run() {
  constexpr std::chrono::milliseconds kTick{100};
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the main thread's
  std::unique_lock lock(mutex_);
  for (double last = Metrics::steady_seconds(); !wake_.wait_for(lock, kTick, [this] { return done_; });) {
    // Time in which this process did not run either (a stopped job, a suspended machine) is nobody's hang.
    constexpr double kLongestTick = 1.0, kTimeToEnd = 3.0, kTimeToSpeak = 0.5;
    const double now = Metrics::steady_seconds(), elapsed = std::min(now - last, kLongestTick);
    last = now;
    if (board_->spoken().load() != 0) {
      // Whoever spoke ends the job; where the launcher does not end all ranks, they go by themselves.
      if ((spoken_s_ += elapsed) > kTimeToEnd) _exit(kCrashStatus);
      continue;
    }
    look_at_next(elapsed);
    look_for_hang(elapsed);
    if (reached().terminated.load() && (terminated_s_ += elapsed) > kTimeToSpeak) {
      signal(SIGTERM, SIG_DFL);
      kill(getpid(), SIGTERM);
    }
  }
}

/// The next rank of this node that is still at work: was it killed, is it stopped?
void Watch::look_at_next(double elapsed_s) {
  if (board_->alone) return;
  constexpr double kLongestStop = 10.0;
  for (std::size_t k = 1; k < slots_; ++k) {
    const std::size_t next = (mine_ + k) % slots_;
    const Slot& slot = board_->slot(next);
    if (slot.state.load() != Slot::working) continue;
    const char state = process_state(slot.pid.load());
    // It may have left between the two looks.
    if ((state == 0 || state == 'Z' || state == 'X') && slot.state.load() == Slot::working)
      end(next, "the process is gone without a word: killed, perhaps for want of memory");
    const double limit = hang_limit_s_.load(std::memory_order_relaxed);
    stopped_s_ = state == 'T' ? stopped_s_ + elapsed_s : 0;
    if (limit > 0 && stopped_s_ > std::min(limit, kLongestStop))
      end(next, fmt::format("the process has been stopped for {:.0f} s (SIGSTOP)", stopped_s_));
    return;
  }
}

void Watch::look_for_hang(double elapsed_s) {
  const double limit = hang_limit_s_.load(std::memory_order_relaxed);
  double newest = 0, oldest = 0;
  std::size_t still = mine_;
  for (std::size_t i = 0; i < slots_; ++i) {
    const Slot& slot = board_->slot(i);
    if (slot.state.load() != Slot::working) continue;
    const double last = slot.heart.last_s.load(std::memory_order_relaxed);
    newest = std::max(newest, last);
    if (oldest == 0 || last < oldest) {
      oldest = last;
      still = i;
    }
  }
  // Setting up and what follows the last step are one long phase each.
  constexpr double kLongPhases = 5.0;
  const bool in_phase = board_->slot(still).heart.phase.load(std::memory_order_relaxed) >= 0;
  idle_s_ = newest == newest_s_ ? idle_s_ + elapsed_s : 0;
  newest_s_ = newest;
  if (limit <= 0 || idle_s_ <= (in_phase ? limit : kLongPhases * limit)) return;
  end(asleep_alone().value_or(still), fmt::format("no progress for {:.0f} s (run.hang_after){}", idle_s_,
                                                  slots_ > 1 ? "; the other ranks of this node wait" : ""));
}

/// Ranks that wait for a message spin. The only one that does not is what they wait for, whichever came further.
std::optional<std::size_t> Watch::asleep_alone() const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < slots_; ++i) {
    const Slot& slot = board_->slot(i);
    if (slot.state.load() != Slot::working || process_state(slot.pid.load()) == 'R') continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

void Watch::end(std::size_t slot, std::string_view why) {
  if (take_word()) {
    Line line;
    line << "amrbench: error: ";
    put_place(line, board_->slot(slot).rank.load(), board_->slot(slot).heart);
    (line << ": " << why).print();
  }
  // Launchers end a job when a rank goes like this; a stopped one must be ended where they do not.
  if (slot != mine_ && process_state(board_->slot(slot).pid.load()) == 'T')
    kill(board_->slot(slot).pid.load(), SIGKILL);
  _exit(kCrashStatus);
}

}  // namespace amrbench::support
