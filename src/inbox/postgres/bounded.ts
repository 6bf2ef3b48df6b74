/** Milliseconds to connect. */
export const CONNECT_WITHIN = 3_000

/** Milliseconds that whoever asks the server waits, at most: a sender waits for the answer. */
export const ANSWER_WITHIN = 5_000

/** What PostgreSQL says where a table or its schema is gone. */
export const GONE: readonly unknown[] = ['42P01', '3F000']

/** Rejects where the server takes too long. A server that hangs says nothing, so nobody else would. */
export async function bounded<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`PostgreSQL has not answered for ${ANSWER_WITHIN} ms`))
    }, ANSWER_WITHIN)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
