/** What the receiver answered. */
export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** At most 64 KiB of it, as text. */
  body: string
}

const MAX_BODY = 64 * 1024

/** The body of an answer as it arrives, of which at most 64 KiB are kept. */
export class AnswerBody {
  private readonly chunks: Buffer[] = []
  private room = MAX_BODY

  /** @returns whether more is wanted */
  add(chunk: Buffer): boolean {
    this.chunks.push(chunk.length > this.room ? chunk.subarray(0, this.room) : chunk)
    this.room -= chunk.length
    return this.room > 0
  }

  text(): string {
    const chunks = this.chunks
    // Most are one chunk, which needs no copy.
    return (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString()
  }
}
