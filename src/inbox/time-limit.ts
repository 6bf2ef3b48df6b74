/**
 * Rejects if a server takes longer than `limit` milliseconds, because a server that hangs reports no error, and its
 * client may wait without a limit.
 */
export async function answerWithin<T>(limit: number, server: string, answer: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${server} has not answered for ${limit} ms`)), limit)
  })
  try {
    return await Promise.race([answer, timeout])
  } finally {
    clearTimeout(timer)
  }
}
