import type { Response } from 'express'
import { html } from '../../inspector/html/template.ts'
import type { Format } from '../admin/response-format.ts'
import { toAdminError } from '../http/errors.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  vary: 'accept',
  'x-content-type-options': 'nosniff',
}

/** Sends JSON, or a page that shows it. */
export function sendBody(res: Response, format: Format, body: object, status = 200): void {
  const isPage = format === 'html'
  const json = JSON.stringify(body, null, format === 'json' ? 0 : 2)
  const text = isPage ? toPage(json) : json
  res
    .status(status)
    .set(HEADERS)
    .set('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    .set('content-type', `${isPage ? 'text/html' : 'application/json'}; charset=utf-8`)
    .set('content-length', String(Buffer.byteLength(text)))
    .end(text)
}

const toPage = (json: string): string =>
  html`<!doctype html><html lang="en"><meta charset="utf-8"><title>Feature service</title><pre>${json}</pre></html>`
    .markup

/**
 * Sends an error as these services do: the HTTP status is 200, and the code is in the body. Clients of the vendor lose
 * the message of an error with another status. Only a wrong method has its own status, 405.
 */
export function sendFailure(res: Response, format: Format, thrown: unknown): void {
  const { status: code, messages } = toAdminError(thrown)
  const [message = '', ...details] = messages
  sendBody(res, format, { error: { code, message, details } }, code === 405 ? 405 : 200)
}
