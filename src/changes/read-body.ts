import { toText } from '../payload/json.ts'
import { ChangesError } from './errors.ts'

/**
 * Reads a body as text. The bytes are decoded once and as a whole: texts of chunks would be in memory twice when they
 * are joined, with two bytes for each character if one of them is not Latin.
 *
 * @param limit maximum number of bytes after decompression
 * @throws {WebhookError} `changes_too_large`, `changes_malformed`; a connection that breaks throws what `fetch` throws
 */
export async function readBody(response: Response, limit: number, shown: string): Promise<string> {
  const bytes = await readBytes(response, limit, shown)
  try {
    return toText(bytes)
  } catch {
    throw new ChangesError('changes_malformed', {
      message: `the response of ${shown} is not valid UTF-8`,
      hint: 'Check that the URL is that of a feature service.',
    })
  } finally {
    free(bytes)
  }
}

async function readBytes(response: Response, limit: number, shown: string): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(response.headers.get('content-length'))
  if (announced > limit) {
    await discard(response)
    throw tooLarge(limit, shown)
  }
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = response.body?.getReader()
  try {
    for (let next = await reader?.read(); next?.value; next = await reader?.read()) {
      size += next.value.length
      if (size > limit) throw tooLarge(limit, shown)
      chunks.push(next.value)
    }
  } finally {
    reader?.cancel().catch(() => {})
  }
  return join(chunks, size)
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

/**
 * Detaches the memory of the bytes, so that it can be freed before the text is parsed. Otherwise it would stay until the
 * next full garbage collection.
 */
function free({ buffer }: Uint8Array<ArrayBuffer>): void {
  structuredClone(buffer, { transfer: [buffer] })
}

/** Frees the connection of a response whose body is not needed. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {})
}

const tooLarge = (limit: number, shown: string): ChangesError =>
  new ChangesError('changes_too_large', {
    message: `the response of ${shown} is larger than ${limit} bytes`,
    hint: 'Raise the option limit, or extract more often so that the windows are smaller.',
  })
