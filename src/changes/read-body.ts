import { ChangesError } from './errors.ts'

/**
 * Reads a body as text. The decoder gets the chunks as they arrive, so that the bytes are never in memory as a whole.
 *
 * @param limit maximum number of bytes after decompression
 * @throws {WebhookError} `changes_too_large`, `changes_malformed`; a connection that breaks throws what `fetch` throws
 */
export async function readBody(response: Response, limit: number, shown: string): Promise<string> {
  const announced = Number(response.headers.get('content-length'))
  if (announced > limit) {
    await discard(response)
    throw tooLarge(limit, shown)
  }
  const reader = response.body?.getReader()
  if (!reader) return ''
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text + decode(decoder, undefined, shown)
      size += value.length
      if (size > limit) throw tooLarge(limit, shown)
      text += decode(decoder, value, shown)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Frees the connection of a response whose body is not needed. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {})
}

function decode(decoder: TextDecoder, chunk: Uint8Array | undefined, shown: string): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch {
    throw new ChangesError('changes_malformed', {
      message: `the response of ${shown} is not valid UTF-8`,
      hint: 'Check that the URL is that of a feature service.',
    })
  }
}

const tooLarge = (limit: number, shown: string): ChangesError =>
  new ChangesError('changes_too_large', {
    message: `the response of ${shown} is larger than ${limit} bytes`,
    hint: 'Raise the option limit, or extract more often so that the windows are smaller.',
  })
