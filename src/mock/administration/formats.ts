import type { Response } from 'express'

/** An answer that is no success; `status` is the HTTP status and the code in the body (field facts, "Errors"). */
export class AdminError extends Error {
  readonly status: number
  readonly messages: readonly string[]

  constructor(status: number, ...messages: string[]) {
    super(messages.join('; '))
    this.name = 'AdminError'
    this.status = status
    this.messages = messages
  }
}

/** Response formats: `json`, and `pjson` with indents. */
const INDENTS = new Map([
  ['json', 0],
  ['pjson', 2],
])

/** @throws {AdminError} 400 for a format that is none */
export function readFormat(f: string | undefined): number {
  const indent = INDENTS.get(f ?? 'json')
  if (indent === undefined) throw new AdminError(400, 'f must be json or pjson')
  return indent
}

/** Sends an answer, with the indent in `res.locals` that the request asked for. */
export function answer(res: Response, body: object): void {
  res.type('application/json').send(JSON.stringify(body, null, res.locals.indent))
}

export function answerError(res: Response, { status, messages }: AdminError): void {
  answer(res.status(status), { status: 'error', messages, code: status })
}

/** What somebody sent, for a message: in quotes, and the first 64 characters of it. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)
