/** Values at which code often changes its behaviour. */
const TOKENS = [
  ...[
    '0',
    '-1',
    '1e400',
    '9007199254740993',
    '4294967296',
    '""',
    '[]',
    '{}',
    'null',
    'true',
    '[[',
    '{"a":',
    '":"',
  ],
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    '\0',
    '\ufeff',
    '\u{1f4a9}',
    '%00',
    '%',
    '%2',
    '+',
    '&',
    '=',
  ],
  ...[',', ';', '\n', '\r\n', '\n\n', ' ', '\t', '"', '\\', '\\u0000', '../', '//', '?', '#', '@', ':', '*'],
]
const BYTES = [0, 9, 10, 13, 32, 34, 37, 38, 44, 45, 48, 57, 61, 92, 127, 128, 192, 237, 239, 255]

/** Creates a function that changes an input at random, within `maxLength` bytes. */
export function createMutator(random, words, maxLength) {
  const tokens = [
    ...TOKENS.map((word) => Buffer.from(word)),
    ...words.map((word) => Buffer.from(word, 'latin1')),
  ]
  const bytes = [...BYTES, ...tokens.filter(({ length }) => length === 1).map(([byte]) => byte)]
  const below = (limit) => Math.floor(random() * limit)
  const pick = (list) => list[below(list.length)]
  /** A range of an input; short ranges are more likely. */
  const range = ({ length }) => {
    const size = Math.min(length, 1 + below(1 << below(9)))
    const start = below(length - size + 1)
    return [start, start + size]
  }
  const replace = (input, start, end, by) =>
    Buffer.concat([input.subarray(0, start), by, input.subarray(end)])

  const mutations = [
    (input) => {
      const copy = Buffer.from(input)
      if (copy.length > 0) copy[below(copy.length)] ^= 1 << below(8)
      return copy
    },
    (input) => {
      const copy = Buffer.from(input)
      if (copy.length > 0) copy[below(copy.length)] = random() < 0.5 ? pick(bytes) : below(256)
      return copy
    },
    (input) => replace(input, ...range(input), Buffer.alloc(0)),
    (input) => {
      const at = below(input.length + 1)
      return replace(input, at, at, pick(tokens))
    },
    // Replaces the word at a position by another word.
    (input) => {
      const at = below(input.length + 1)
      let start = at
      let end = at
      while (start > 0 && isWord(input[start - 1])) start--
      while (end < input.length && isWord(input[end])) end++
      return replace(input, start, end, pick(tokens))
    },
    // Repeats a part: nesting and lists grow quickly.
    (input) => {
      const [start, end] = range(input)
      const times = 1 + below(1 << below(7))
      return replace(input, end, end, Buffer.concat(Array(times).fill(input.subarray(start, end))))
    },
    // Copies a part of another input.
    (input, other) => {
      const at = below(input.length + 1)
      const end = random() < 0.5 ? at : Math.min(input.length, at + below(64))
      return replace(input, at, end, other.subarray(...range(other)))
    },
    // Joins the start of this input and the end of the other one.
    (input, other) =>
      Buffer.concat([input.subarray(0, below(input.length + 1)), other.subarray(below(other.length + 1))]),
    // Moves a part.
    (input) => {
      const [start, end] = range(input)
      const rest = replace(input, start, end, Buffer.alloc(0))
      const at = below(rest.length + 1)
      return replace(rest, at, at, input.subarray(start, end))
    },
  ]

  return (input, other) => {
    let mutated = input
    for (let steps = 1 << below(1 + below(4)); steps > 0; steps--) {
      const next = pick(mutations)(mutated, other)
      mutated = next.length > maxLength ? next.subarray(0, maxLength) : next
    }
    return mutated
  }
}

/** Letters, digits, `_`, `$`, `-` and bytes of other characters than ASCII. */
const isWord = (byte) =>
  byte > 127 ||
  byte === 95 ||
  byte === 36 ||
  byte === 45 ||
  (byte > 47 && byte < 58) ||
  ((byte | 32) > 96 && (byte | 32) < 123)

/** Removes parts of an input, large ones first, as long as `isSame` accepts the rest. */
export async function shrink(input, isSame) {
  let small = input
  for (let size = small.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < small.length; ) {
      const shorter = Buffer.concat([small.subarray(0, at), small.subarray(at + size)])
      if (await isSame(shorter)) small = shorter
      else at += size
    }
  }
  return small
}

/**
 * Returns a few short inputs that reach every branch that the corpus reaches.
 *
 * @param branchesOf returns the branches that an input reaches; undefined for a finding
 */
export async function minimise(corpus, branchesOf) {
  const reachedBy = []
  const left = new Set()
  for (const input of [...corpus].sort((a, b) => a.length - b.length)) {
    const all = (await branchesOf(input)) ?? []
    reachedBy.push({ input, all })
    for (const branch of all) left.add(branch)
  }
  const saved = []
  while (left.size > 0) {
    const gain = ({ all }) => all.filter((branch) => left.has(branch)).length
    let best = reachedBy[0]
    for (const one of reachedBy) if (gain(one) > gain(best)) best = one
    const needed = best.all.filter((branch) => left.has(branch))
    if (needed.length === 0) break
    const input = await shrink(best.input, async (shorter) => {
      const reached = new Set(await branchesOf(shorter))
      return needed.every((branch) => reached.has(branch))
    })
    for (const branch of (await branchesOf(input)) ?? []) left.delete(branch)
    for (const branch of needed) left.delete(branch)
    saved.push(input)
  }
  return saved
}
