import type { Response } from 'express'
import { isLoopback } from '../../http/hosts.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
}

/** @param isCut whether the connection ends in the middle of the file */
export function sendFile(res: Response, bytes: Buffer, isCut: boolean): void {
  res.status(200).set(HEADERS).set('content-length', String(bytes.length))
  if (isCut) res.write(bytes.subarray(0, bytes.length >> 1), () => res.destroy())
  else res.end(bytes)
}

/** Redirects to the same URL on another host: `localhost` and 127.0.0.1 are two names of this machine. */
export function sendRedirect(res: Response, location: string): void {
  const url = new URL(location)
  if (isLoopback(url.hostname)) url.hostname = url.hostname === 'localhost' ? '127.0.0.1' : 'localhost'
  res.status(302).set({ 'cache-control': 'no-store', location: url.href }).end()
}

/** A request for a file by its signed URL. */
interface SignedFile {
  bytes: Buffer | undefined
  isSigned: boolean
  /** Whether the query has a token. */
  hasToken: boolean
  isCut(): boolean
}

/**
 * Sends a file as a host for files does: the HTTP status is that of the error, and a token is an error, because it must
 * not leave the service.
 */
export function sendSignedFile(res: Response, { bytes, isSigned, hasToken, isCut }: SignedFile): void {
  const { headers } = res.req
  if (hasToken || headers.authorization !== undefined || headers['x-esri-authorization'] !== undefined)
    sendError(res, 400, 'the request has a token, which must not be sent to another host than the service')
  else if (!isSigned) sendError(res, 403, 'the signature of the URL is invalid, or it has expired')
  else if (!bytes) sendError(res, 404, 'the file does not exist, or it was removed')
  else sendFile(res, bytes, isCut())
}

function sendError(res: Response, code: number, message: string): void {
  res
    .status(code)
    .set(HEADERS)
    .end(JSON.stringify({ error: { code, message, details: [] } }))
}
