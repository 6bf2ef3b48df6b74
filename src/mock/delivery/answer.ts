/** What the receiver answered. */
export interface Answer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** At most 64 KiB of it, as text. */
  readonly body: string
}

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

let last: Answer | undefined

/**
 * An answer for the record. A receiver says mostly the same: then it is the same object, which nobody can change. To copy
 * a thousand of them each time garbage is collected would take as long as to sign.
 */
export function toAnswer(status: number, headers: AnswerHeaders, body: string): Answer {
  if (last?.status !== status || last.body !== body || !areSame(last.headers, headers))
    last = Object.freeze({ status, headers: Object.freeze(headers), body })
  return last
}

function areSame(headers: AnswerHeaders, others: AnswerHeaders): boolean {
  const names = Object.keys(headers)
  const otherNames = Object.keys(others)
  return (
    names.length === otherNames.length &&
    names.every((name, index) => name === otherNames[index] && headers[name] === others[name])
  )
}

const MAX_BODY = 64 * 1024

/** The body of an answer as it arrives, of which at most 64 KiB are kept. */
export class AnswerBody {
  private chunks: Buffer[] | undefined
  private room = MAX_BODY

  /** @returns whether more is wanted */
  add(chunk: Buffer): boolean {
    const kept = chunk.length > this.room ? chunk.subarray(0, this.room) : chunk
    if (this.chunks) this.chunks.push(kept)
    else this.chunks = [kept]
    this.room -= chunk.length
    return this.room > 0
  }

  text(): string {
    const chunks = this.chunks
    if (!chunks) return ''
    // Most are one chunk, which needs no copy.
    return (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString()
  }
}
