// An ordered map whose copies are free: a B-tree that shares every node which two versions have in common.
//
// Why: the desired state is one value. A candidate is a copy of it, a reader pins a copy, history keeps copies; each
// must cost O(1), whatever the size, and a change of one record must cost a path, not a table. Nodes carry an atomic
// reference count: a node that only this version holds is edited in place (a bulk load runs at the speed of an ordinary
// B-tree), any other is copied first.
//
// The wrong way: a std::map under a lock. A dump of a million routes would block the writer, or see half of a batch.
//
//   PersistentMap<uint32_t, Route> map;
//   map.Assign(7, route);
//   PersistentMap<uint32_t, Route> pinned = map;         // O(1)
//   map.Erase(7);                                        // `pinned` still has it
//   for (auto it = pinned.LowerBound(5); it.Valid(); it.Next()) Use(it.key(), it.value());
//
// Key and Value are default-constructible and copyable; Key has operator<. Pointers and iterators into a map are good
// until that map object is changed or destroyed; other copies do not matter.
//
// Threads: as for any value, one map object is used by one thread at a time (or only read by many). Copies may live,
// be read and be dropped on any threads at once. Cost: Find and LowerBound log n, Insert and Erase the same plus one
// node copy (<= 2 KB) a level on the first touch of a shared path; about 1.1 times the payload in memory after sorted
// insertion, 1.3 times after random insertion.
#ifndef SLUICE_SERVER_CONFIG_PERSISTENT_MAP_H_
#define SLUICE_SERVER_CONFIG_PERSISTENT_MAP_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::config {

template <class Key, class Value>
class PersistentMap {
  struct Node {
    std::atomic<uint32_t> refs{1};
    uint16_t count = 0;
    uint16_t level = 0;  // 0: leaf
  };

  static constexpr size_t kNodeBytes = 2048;
  static constexpr size_t kLeaf = std::max<size_t>(8, (kNodeBytes - sizeof(Node)) / (sizeof(Key) + sizeof(Value)));
  static constexpr size_t kInner = std::max<size_t>(8, (kNodeBytes - sizeof(Node)) / (sizeof(Key) + sizeof(void*)));
  static constexpr int kMaxDepth = 24;

  struct Leaf : Node {
    Key keys[kLeaf];
    Value values[kLeaf];
  };
  // keys[i] <= every key below children[i]; keys[0] is not used.
  struct Inner : Node {
    Key keys[kInner];
    Node* children[kInner];
  };

 public:
  class Iterator {
   public:
    Iterator() = default;
    bool Valid() const { return leaf_ != nullptr; }
    const Key& key() const { return leaf_->keys[at_]; }
    const Value& value() const { return leaf_->values[at_]; }
    void Next() {
      if (++at_ < leaf_->count) return;
      while (depth_ > 0) {
        Step& step = path_[depth_ - 1];
        if (++step.at < step.node->count) {
          Descend(step.node->children[step.at]);
          return;
        }
        --depth_;
      }
      leaf_ = nullptr;
    }

   private:
    friend class PersistentMap;
    struct Step {
      const Inner* node;
      uint32_t at;
    };
    void Descend(const Node* node) {  // to the first record below
      while (node->level > 0) {
        const Inner* inner = static_cast<const Inner*>(node);
        path_[depth_++] = {inner, 0};
        node = inner->children[0];
      }
      leaf_ = static_cast<const Leaf*>(node);
      at_ = 0;
    }

    const Leaf* leaf_ = nullptr;
    uint32_t at_ = 0;
    int depth_ = 0;
    Step path_[kMaxDepth];
  };

  PersistentMap() = default;
  PersistentMap(const PersistentMap& o) : root_(o.root_), size_(o.size_) { Share(root_); }
  PersistentMap(PersistentMap&& o) noexcept
      : root_(std::exchange(o.root_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  PersistentMap& operator=(const PersistentMap& o) {
    Share(o.root_);
    Drop(root_);
    root_ = o.root_;
    size_ = o.size_;
    return *this;
  }
  PersistentMap& operator=(PersistentMap&& o) noexcept {
    std::swap(root_, o.root_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~PersistentMap() { Drop(root_); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The value of `key`, or null.
  const Value* Find(const Key& key) const {
    const Node* node = root_;
    if (node == nullptr) return nullptr;
    while (node->level > 0) {
      const Inner* inner = static_cast<const Inner*>(node);
      node = inner->children[ChildOf(inner, key)];
    }
    const Leaf* leaf = static_cast<const Leaf*>(node);
    const size_t at = PlaceIn(leaf, key);
    return at < leaf->count && !(key < leaf->keys[at]) ? &leaf->values[at] : nullptr;
  }
  bool Contains(const Key& key) const { return Find(key) != nullptr; }

  Iterator begin() const {
    Iterator it;
    if (root_ != nullptr) it.Descend(root_);
    return it;
  }
  // The first record whose key is not less than `key`.
  Iterator LowerBound(const Key& key) const {
    Iterator it;
    const Node* node = root_;
    if (node == nullptr) return it;
    while (node->level > 0) {
      const Inner* inner = static_cast<const Inner*>(node);
      const size_t at = ChildOf(inner, key);
      it.path_[it.depth_++] = {inner, static_cast<uint32_t>(at)};
      node = inner->children[at];
    }
    it.leaf_ = static_cast<const Leaf*>(node);
    const size_t at = PlaceIn(it.leaf_, key);
    if (at < it.leaf_->count) {
      it.at_ = static_cast<uint32_t>(at);
    } else {
      it.at_ = it.leaf_->count - 1u;
      it.Next();
    }
    return it;
  }

  // The value of `key`, to be changed in place; null when there is none.
  Value* FindMutable(const Key& key) {
    if (!Contains(key)) return nullptr;
    Node** slot = &root_;
    while (Own(slot)->level > 0) {
      Inner* inner = static_cast<Inner*>(*slot);
      slot = &inner->children[ChildOf(inner, key)];
    }
    Leaf* leaf = static_cast<Leaf*>(*slot);
    return &leaf->values[PlaceIn(leaf, key)];
  }

  // Adds a record. False, and nothing changed, when the key exists.
  bool Insert(const Key& key, const Value& value) {
    const auto [slot, inserted] = Place(key);
    if (inserted) *slot = value;
    return inserted;
  }
  // Adds a record or replaces its value.
  void Assign(const Key& key, const Value& value) { *Place(key).first = value; }
  // The value of `key`, made (default-constructed) when there is none, to be changed in place.
  Value& operator[](const Key& key) { return *Place(key).first; }

  // False when there is no such key.
  bool Erase(const Key& key) {
    if (!Contains(key)) return false;
    Inner* path[kMaxDepth];
    size_t at[kMaxDepth];
    int depth = 0;
    Leaf* leaf = Descend(key, path, at, &depth);
    const size_t place = PlaceIn(leaf, key);
    std::move(leaf->keys + place + 1, leaf->keys + leaf->count, leaf->keys + place);
    std::move(leaf->values + place + 1, leaf->values + leaf->count, leaf->values + place);
    --leaf->count;
    leaf->keys[leaf->count] = Key();
    leaf->values[leaf->count] = Value();
    --size_;
    if (depth > 0 && leaf->count < kLeaf / 3) MergeLeaf(path[depth - 1], at[depth - 1]);
    for (int i = depth - 1; i > 0; --i) {
      if (path[i]->count >= kInner / 3) break;
      MergeInner(path[i - 1], at[i - 1]);
    }
    while (root_ != nullptr && root_->level > 0 && root_->count == 1) {
      Inner* old = static_cast<Inner*>(root_);
      root_ = old->children[0];
      delete old;  // owned: it is on the path
    }
    if (size_ == 0) {
      Drop(root_);
      root_ = nullptr;
    }
    return true;
  }

  void Clear() {
    Drop(root_);
    root_ = nullptr;
    size_ = 0;
  }

  // Bytes of all nodes, shared ones included. Walks the nodes: O(n / 30).
  size_t MemoryBytes() const { return BytesOf(root_); }
  // Whether the two are the same version (and not merely equal).
  bool SharesRootWith(const PersistentMap& o) const { return root_ == o.root_; }

 private:
  static void Share(Node* node) {
    if (node != nullptr) node->refs.fetch_add(1, std::memory_order_relaxed);
  }
  static void Drop(Node* node) {
    if (node == nullptr || node->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (node->level == 0) {
      delete static_cast<Leaf*>(node);
      return;
    }
    Inner* inner = static_cast<Inner*>(node);
    for (size_t i = 0; i < inner->count; ++i) Drop(inner->children[i]);
    delete inner;
  }
  static size_t BytesOf(const Node* node) {
    if (node == nullptr) return 0;
    if (node->level == 0) return sizeof(Leaf);
    const Inner* inner = static_cast<const Inner*>(node);
    size_t bytes = sizeof(Inner);
    for (size_t i = 0; i < inner->count; ++i) bytes += BytesOf(inner->children[i]);
    return bytes;
  }

  static size_t PlaceIn(const Leaf* leaf, const Key& key) {
    return static_cast<size_t>(std::lower_bound(leaf->keys, leaf->keys + leaf->count, key) - leaf->keys);
  }
  static size_t ChildOf(const Inner* inner, const Key& key) {
    return static_cast<size_t>(std::upper_bound(inner->keys + 1, inner->keys + inner->count, key) - inner->keys) - 1;
  }

  // Makes *slot a node that only this version holds. The nodes above it are so already.
  static Node* Own(Node** slot) {
    Node* node = *slot;
    if (node->refs.load(std::memory_order_acquire) == 1) return node;
    Node* copy;
    if (node->level == 0) {
      const Leaf* from = static_cast<Leaf*>(node);
      Leaf* to = new Leaf;
      std::copy(from->keys, from->keys + from->count, to->keys);
      std::copy(from->values, from->values + from->count, to->values);
      copy = to;
    } else {
      const Inner* from = static_cast<Inner*>(node);
      Inner* to = new Inner;
      std::copy(from->keys, from->keys + from->count, to->keys);
      std::copy(from->children, from->children + from->count, to->children);
      for (size_t i = 0; i < from->count; ++i) Share(to->children[i]);
      copy = to;
    }
    copy->count = node->count;
    copy->level = node->level;
    Drop(node);
    *slot = copy;
    return copy;
  }

  // The leaf where `key` belongs, with all above it made our own: path[i] is the node of step i, at[i] the child taken.
  // There is a root.
  Leaf* Descend(const Key& key, Inner** path, size_t* at, int* depth) {
    Node** slot = &root_;
    while (Own(slot)->level > 0) {
      Inner* inner = static_cast<Inner*>(*slot);
      path[*depth] = inner;
      at[*depth] = ChildOf(inner, key);
      slot = &inner->children[at[*depth]];
      ++*depth;
    }
    return static_cast<Leaf*>(*slot);
  }

  // The slot of `key`, owned, and whether it is new.
  std::pair<Value*, bool> Place(const Key& key) {
    if (root_ == nullptr) root_ = new Leaf;
    Inner* path[kMaxDepth];
    size_t at[kMaxDepth];
    int depth = 0;
    Leaf* leaf = Descend(key, path, at, &depth);
    size_t place = PlaceIn(leaf, key);
    if (place < leaf->count && !(key < leaf->keys[place])) return {&leaf->values[place], false};
    ++size_;
    if (leaf->count == kLeaf) {
      if (depth == 0 || !MakeRoom(path[depth - 1], at[depth - 1], key, &leaf, &place)) {
        Leaf* right = SplitLeaf(leaf, place);
        const Key separator = right->count > 0 ? right->keys[0] : key;
        Leaf* target = leaf;
        if (place > leaf->count || right->count == 0) {
          place -= leaf->count;
          target = right;
        }
        AddChild(path, at, depth, separator, right);
        leaf = target;
      }
    }
    std::move_backward(leaf->keys + place, leaf->keys + leaf->count, leaf->keys + leaf->count + 1);
    std::move_backward(leaf->values + place, leaf->values + leaf->count, leaf->values + leaf->count + 1);
    leaf->keys[place] = key;
    leaf->values[place] = Value();
    ++leaf->count;
    return {&leaf->values[place], true};
  }

  // The upper part of a full leaf goes to a new one; nothing goes when the new key follows all others, so that sorted
  // insertion leaves full leaves behind.
  static Leaf* SplitLeaf(Leaf* leaf, size_t place) {
    Leaf* right = new Leaf;
    const size_t keep = place == kLeaf ? kLeaf : kLeaf / 2;
    Move(leaf, keep, right, 0, kLeaf - keep);
    right->count = static_cast<uint16_t>(kLeaf - keep);
    leaf->count = static_cast<uint16_t>(keep);
    return right;
  }

  // Instead of a split: moves records to a neighbour with room. False when neither has any to speak of.
  bool MakeRoom(Inner* parent, size_t at, const Key& key, Leaf** leaf, size_t* place) {
    constexpr size_t kWorth = kLeaf - kLeaf / 8;
    if (at + 1 < parent->count && parent->children[at + 1]->count < kWorth) {
      Leaf* right = static_cast<Leaf*>(Own(&parent->children[at + 1]));
      // All of what is moved lies behind the new key, unless the new key comes last: then it moves alone.
      const size_t n = *place == kLeaf ? 0 : std::max<size_t>(1, (kLeaf - right->count) / 2);
      if (n > 0) {
        ShiftRight(right, n);
        Move(*leaf, kLeaf - n, right, 0, n);
        (*leaf)->count = static_cast<uint16_t>(kLeaf - n);
        parent->keys[at + 1] = right->keys[0];
      }
      if (*place > (*leaf)->count || n == 0) {
        *place -= (*leaf)->count;
        *leaf = right;
        if (*place == 0) parent->keys[at + 1] = key;
      }
      return true;
    }
    if (at > 0 && parent->children[at - 1]->count < kWorth) {
      Leaf* left = static_cast<Leaf*>(Own(&parent->children[at - 1]));
      const size_t n = std::max<size_t>(1, (kLeaf - left->count) / 2);
      Move(*leaf, 0, left, left->count, n);
      std::move((*leaf)->keys + n, (*leaf)->keys + kLeaf, (*leaf)->keys);
      std::move((*leaf)->values + n, (*leaf)->values + kLeaf, (*leaf)->values);
      left->count = static_cast<uint16_t>(left->count + n);
      (*leaf)->count = static_cast<uint16_t>(kLeaf - n);
      if (*place < n) {
        *place = left->count - n + *place;
        *leaf = left;
      } else {
        *place -= n;
        if (*place == 0) {
          parent->keys[at] = key;
          return true;
        }
      }
      parent->keys[at] = static_cast<Leaf*>(parent->children[at])->keys[0];
      return true;
    }
    return false;
  }

  static void Move(Leaf* from, size_t from_at, Leaf* to, size_t to_at, size_t n) {
    std::move(from->keys + from_at, from->keys + from_at + n, to->keys + to_at);
    std::move(from->values + from_at, from->values + from_at + n, to->values + to_at);
  }
  static void ShiftRight(Leaf* leaf, size_t n) {
    std::move_backward(leaf->keys, leaf->keys + leaf->count, leaf->keys + leaf->count + n);
    std::move_backward(leaf->values, leaf->values + leaf->count, leaf->values + leaf->count + n);
    leaf->count = static_cast<uint16_t>(leaf->count + n);
  }

  // `right` follows the child that the path leads to; splits full parents on the way up.
  void AddChild(Inner** path, size_t* at, int depth, Key separator, Node* right) {
    for (int i = depth - 1; i >= 0; --i) {
      Inner* parent = path[i];
      size_t place = at[i] + 1;
      if (parent->count < kInner) {
        InsertChild(parent, place, separator, right);
        return;
      }
      Inner* split = new Inner;
      split->level = parent->level;
      const size_t keep = place == kInner ? kInner - 1 : kInner / 2;
      std::move(parent->keys + keep, parent->keys + kInner, split->keys);
      std::copy(parent->children + keep, parent->children + kInner, split->children);
      split->count = static_cast<uint16_t>(kInner - keep);
      parent->count = static_cast<uint16_t>(keep);
      const Key up = split->keys[0];
      if (place > keep) {
        InsertChild(split, place - keep, separator, right);
      } else if (place < keep) {
        InsertChild(parent, place, separator, right);
      } else {  // it would become split's first: let it stay at the end of the lower half
        InsertChild(parent, place, separator, right);
      }
      separator = up;
      right = split;
    }
    Inner* root = new Inner;
    root->level = static_cast<uint16_t>(root_->level + 1);
    root->count = 2;
    root->children[0] = root_;
    root->children[1] = right;
    root->keys[1] = separator;
    root_ = root;
  }
  static void InsertChild(Inner* inner, size_t place, const Key& separator, Node* child) {
    std::move_backward(inner->keys + place, inner->keys + inner->count, inner->keys + inner->count + 1);
    std::move_backward(inner->children + place, inner->children + inner->count, inner->children + inner->count + 1);
    inner->keys[place] = separator;
    inner->children[place] = child;
    ++inner->count;
  }
  static void RemoveChild(Inner* inner, size_t place) {
    std::move(inner->keys + place + 1, inner->keys + inner->count, inner->keys + place);
    std::move(inner->children + place + 1, inner->children + inner->count, inner->children + place);
    --inner->count;
    inner->keys[inner->count] = Key();
  }

  // The child at `at` has become small: it joins a neighbour, or takes half of what the neighbour has more.
  static void MergeLeaf(Inner* parent, size_t at) {
    if (parent->count < 2) return;
    const size_t l = at > 0 ? at - 1 : 0;
    Leaf* left = static_cast<Leaf*>(Own(&parent->children[l]));
    Leaf* right = static_cast<Leaf*>(Own(&parent->children[l + 1]));
    const size_t total = static_cast<size_t>(left->count) + right->count;
    if (total <= kLeaf - kLeaf / 8) {
      Move(right, 0, left, left->count, right->count);
      left->count = static_cast<uint16_t>(total);
      delete right;
      RemoveChild(parent, l + 1);
      return;
    }
    const size_t keep = total / 2;
    if (left->count > keep) {
      const size_t n = left->count - keep;
      ShiftRight(right, n);
      Move(left, keep, right, 0, n);
    } else {
      const size_t n = keep - left->count;
      Move(right, 0, left, left->count, n);
      std::move(right->keys + n, right->keys + right->count, right->keys);
      std::move(right->values + n, right->values + right->count, right->values);
      right->count = static_cast<uint16_t>(right->count - n);
    }
    left->count = static_cast<uint16_t>(keep);
    parent->keys[l + 1] = right->keys[0];
  }
  static void MergeInner(Inner* parent, size_t at) {
    if (parent->count < 2) return;
    const size_t l = at > 0 ? at - 1 : 0;
    Inner* left = static_cast<Inner*>(Own(&parent->children[l]));
    Inner* right = static_cast<Inner*>(Own(&parent->children[l + 1]));
    right->keys[0] = parent->keys[l + 1];
    const size_t total = static_cast<size_t>(left->count) + right->count;
    if (total <= kInner - kInner / 8) {
      std::move(right->keys, right->keys + right->count, left->keys + left->count);
      std::copy(right->children, right->children + right->count, left->children + left->count);
      left->count = static_cast<uint16_t>(total);
      delete right;
      RemoveChild(parent, l + 1);
      return;
    }
    const size_t keep = total / 2;
    if (left->count > keep) {
      const size_t n = left->count - keep;
      std::move_backward(right->keys, right->keys + right->count, right->keys + right->count + n);
      std::move_backward(right->children, right->children + right->count, right->children + right->count + n);
      std::move(left->keys + keep, left->keys + left->count, right->keys);
      std::copy(left->children + keep, left->children + left->count, right->children);
      right->count = static_cast<uint16_t>(right->count + n);
    } else {
      const size_t n = keep - left->count;
      std::move(right->keys, right->keys + n, left->keys + left->count);
      std::copy(right->children, right->children + n, left->children + left->count);
      std::move(right->keys + n, right->keys + right->count, right->keys);
      std::move(right->children + n, right->children + right->count, right->children);
      right->count = static_cast<uint16_t>(right->count - n);
    }
    left->count = static_cast<uint16_t>(keep);
    parent->keys[l + 1] = right->keys[0];
  }

  Node* root_ = nullptr;
  size_t size_ = 0;
};

}  // namespace sluice::config

#endif  // SLUICE_SERVER_CONFIG_PERSISTENT_MAP_H_
