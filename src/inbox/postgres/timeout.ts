/** Maximum milliseconds to connect to the server. */
export const CONNECT_TIMEOUT = 3_000

/** Maximum milliseconds that a call waits for the server, because an HTTP client is waiting for its response. */
export const CALL_TIMEOUT = 5_000

/** Maximum milliseconds that a statement may take. Without this limit, pg would wait forever on a dead connection. */
export const STATEMENT_TIMEOUT = 30_000

/** Rejects if `work` takes longer than `CALL_TIMEOUT`, because a server that hangs reports no error. */
export async function withTimeout<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`PostgreSQL has not answered for ${CALL_TIMEOUT} ms`))
    }, CALL_TIMEOUT)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
