#include "server/store/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/store/crc32c.h"

namespace sluice::store {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    char name[] = "/tmp/sluice-log-test.XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~LogTest() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<Log> Open(std::vector<std::string>* records) {
    auto log = Log::Open(dir_);
    EXPECT_TRUE(log.ok()) << log.status();
    if (!log.ok()) return nullptr;
    EXPECT_TRUE((*log)
                    ->Replay([&](absl::string_view record) {
                      records->emplace_back(record);
                      return absl::OkStatus();
                    })
                    .ok());
    return *std::move(log);
  }
  std::vector<std::string> Contents() {
    std::vector<std::string> records;
    Open(&records);
    return records;
  }
  std::string path() const { return dir_ + "/commits.log"; }
  std::string Bytes() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes; }

  std::string dir_;
};

TEST(Crc32cTest, AgreesWithRfc3720) {
  EXPECT_EQ(ExtendCrc32c(0, "123456789"), 0xe3069283u);
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(ExtendCrc32c(ExtendCrc32c(0, "12345"), "6789"), 0xe3069283u);
}

TEST_F(LogTest, WhatWasAppendedIsReplayedInOrder) {
  std::vector<std::string> none;
  {
    auto log = Open(&none);
    ASSERT_TRUE(log->Append({"one", "", "three"}, Durability::kSynced).ok());
    ASSERT_TRUE(log->Append({std::string(100000, 'x')}, Durability::kBuffered).ok());
  }
  EXPECT_THAT(none, IsEmpty());
  EXPECT_THAT(Contents(), ElementsAre("one", "", "three", std::string(100000, 'x')));
}

TEST_F(LogTest, ATornTailIsCutAtEveryByte) {
  std::vector<std::string> records;
  {
    auto log = Open(&records);
    ASSERT_TRUE(log->Append({"first", "second record", "third"}, Durability::kSynced).ok());
  }
  const std::string whole = Bytes();
  const size_t ends[] = {16, 16 + 8 + 5, 16 + 8 + 5 + 8 + 13, whole.size()};
  const std::vector<std::string> all = {"first", "second record", "third"};
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    Write(whole.substr(0, cut));
    size_t expected = 0;
    while (expected < 3 && ends[expected + 1] <= cut) ++expected;
    std::vector<std::string> got;
    {
      auto log = Open(&got);
      ASSERT_NE(log, nullptr);
      EXPECT_THAT(got, ElementsAreArray(all.begin(), all.begin() + static_cast<long>(expected))) << "cut at " << cut;
      EXPECT_EQ(log->notice().empty(), cut <= 16 || cut == ends[expected]) << "cut at " << cut;
      ASSERT_TRUE(log->Append({"after"}, Durability::kSynced).ok());
    }
    got = Contents();
    ASSERT_EQ(got.size(), expected + 1) << "cut at " << cut;
    EXPECT_EQ(got.back(), "after");
  }
}

TEST_F(LogTest, AFlippedBitAnywhereEndsTheLogThereAndKeepsWhatWasCut) {
  std::vector<std::string> records;
  {
    auto log = Open(&records);
    ASSERT_TRUE(log->Append({"first", "second"}, Durability::kSynced).ok());
  }
  const std::string whole = Bytes();
  for (size_t at = 16; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      Write(bad);
      std::vector<std::string> got;
      auto log = Open(&got);
      ASSERT_EQ(got.size(), at < 16 + 8 + 5 ? 0u : 1u) << "byte " << at;
      EXPECT_THAT(log->notice(), HasSubstr("commits.log.cut"));
      EXPECT_EQ(std::filesystem::file_size(path() + ".cut"), whole.size() - log->bytes());
    }
  }
}

TEST_F(LogTest, AForeignFileIsNotTouched) {
  Write("#!/bin/sh\necho this is not a log\n");
  const std::string before = Bytes();
  auto log = Log::Open(dir_);
  EXPECT_EQ(log.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Bytes(), before);
}

TEST_F(LogTest, OneDirectoryHasOneUser) {
  std::vector<std::string> records;
  auto log = Open(&records);
  auto second = Log::Open(dir_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(dir_));
}

TEST_F(LogTest, AnErrorOfTheReaderEndsTheReplay) {
  std::vector<std::string> records;
  {
    auto log = Open(&records);
    ASSERT_TRUE(log->Append({"a", "b"}, Durability::kSynced).ok());
  }
  auto log = Log::Open(dir_);
  ASSERT_TRUE(log.ok());
  int calls = 0;
  EXPECT_EQ((*log)->Replay([&](absl::string_view) {
    ++calls;
    return absl::InternalError("no");
  }),
            absl::InternalError("no"));
  EXPECT_EQ(calls, 1);
}

TEST_F(LogTest, CompactionKeepsWhatIsAppendedMeanwhile) {
  std::vector<std::string> records;
  {
    auto log = Open(&records);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(log->Append({"old"}, Durability::kBuffered).ok());
    auto compaction = log->BeginCompaction();
    ASSERT_TRUE(compaction.ok());
    ASSERT_TRUE((*compaction)->Add("all of it").ok());
    ASSERT_TRUE(log->Append({"meanwhile"}, Durability::kSynced).ok());
    ASSERT_TRUE((*compaction)->Sync().ok());
    ASSERT_TRUE(log->Append({"just before"}, Durability::kSynced).ok());
    ASSERT_TRUE(log->Finish(*std::move(compaction)).ok());
    ASSERT_TRUE(log->Append({"after"}, Durability::kSynced).ok());
    EXPECT_EQ(log->bytes(), std::filesystem::file_size(path()));
  }
  EXPECT_THAT(Contents(), ElementsAre("all of it", "meanwhile", "just before", "after"));
}

TEST_F(LogTest, ACompactionThatIsDroppedLeavesTheLogAsItWas) {
  std::vector<std::string> records;
  {
    auto log = Open(&records);
    ASSERT_TRUE(log->Append({"old"}, Durability::kSynced).ok());
    auto compaction = log->BeginCompaction();
    ASSERT_TRUE(compaction.ok());
    ASSERT_TRUE((*compaction)->Add("half").ok());
  }
  EXPECT_THAT(Contents(), ElementsAre("old"));
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
}

TEST_F(LogTest, AFullDiskRefusesTheAppendAndKeepsTheLogWhole) {
  std::vector<std::string> records;
  auto log = Open(&records);
  ASSERT_TRUE(log->Append({"kept"}, Durability::kSynced).ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status refused = log->Append({"lost", std::string(8192, 'x')}, Durability::kSynced);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(log->Append({"later"}, Durability::kSynced).ok());
  log.reset();
  EXPECT_THAT(Contents(), ElementsAre("kept", "later"));
}

}  // namespace
}  // namespace sluice::store
