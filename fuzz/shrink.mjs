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
