import type { Finding } from '../types.ts'
import { isCharset } from './content-type.ts'
import { findReason, grouped, isJsonBody, type Reason, type Refused } from './refused.ts'

// Reasons that the method, the URL and the headers show. Evidence names only values from the lists in this file.

const METHODS = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'TRACE', 'CONNECT']

const METHOD_REASONS: readonly Reason<Refused>[] = [
  [
    'method_preflight',
    ({ method, headers }) =>
      method === 'OPTIONS' &&
      headers.has('access-control-request-method') &&
      'The request is a preflight request of a browser: OPTIONS with the header access-control-request-method.',
  ],
  [
    'handshake_not_enabled',
    ({ method, url }) =>
      method === 'GET' &&
      parameterOf(url, 'crc_token').length > 0 &&
      'The request is a handshake: GET with the parameter crc_token. The profile of this receiver has no handshake.',
  ],
  [
    'method_not_allowed',
    ({ method }) => METHODS.includes(method) && `The method is ${method} in place of POST.`,
  ],
]

const parameterOf = (url: string, name: string): string[] =>
  new URLSearchParams(/\?([^#]{0,8000})/.exec(url)?.[1]?.replaceAll('+', '%2B')).getAll(name)

interface Handshake {
  parameter: string
  tokens: readonly string[]
  url: string
}

const HANDSHAKE_REASONS: readonly Reason<Handshake>[] = [
  [
    'handshake_url_too_long',
    ({ url }) => url.length > 8000 && `The URL has ${grouped(url.length)} characters.`,
  ],
  [
    'handshake_token_missing',
    ({ tokens, parameter }) =>
      tokens.length === 0 && `The query has no parameter ${parameter}, whose name is case-sensitive.`,
  ],
  [
    'handshake_token_doubled',
    ({ tokens, parameter }) =>
      tokens.length > 1 && `The query has the parameter ${parameter} ${tokens.length} times.`,
  ],
  [
    'handshake_token_empty',
    ({ tokens, parameter }) => tokens[0] === '' && `The parameter ${parameter} is empty.`,
  ],
  [
    'handshake_token_invalid',
    ({ tokens: [token = ''], parameter }) =>
      token.replace(/={1,2}$/, '').length > 512
        ? `The parameter ${parameter} has ${grouped(token.length)} characters; the maximum is 512, and two = after them.`
        : `The parameter ${parameter} contains characters that tokens cannot have.`,
  ],
]

const ENCODINGS = ['gzip', 'br', 'deflate', 'zstd', 'compress', 'x-gzip']
const TEXT_ENCODINGS = [
  'utf-8',
  'utf8',
  'utf-16',
  'iso-8859-1',
  'us-ascii',
  'ascii',
  'base64',
  'chunked',
  'aws-chunked',
  '8bit',
  '7bit',
  'binary',
  'none',
  'application/json',
]

/** Returns the encodings that the header names, without `identity`, which means none. */
const encodingsOf = ({ headers }: Refused): string[] =>
  (headers.get('content-encoding') ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')

/** Returns the names as a text if all of them are in the list or fit. Other names could be any text. */
const namesIn = (refused: Refused, isKnown: (name: string) => boolean): string | false => {
  const names = encodingsOf(refused)
  return names.length > 0 && names.length < 10 && names.every(isKnown) && names.join(', ')
}

const compressionOf = (refused: Refused): string | false =>
  namesIn(refused, (name) => ENCODINGS.includes(name))

const ENCODING_REASONS: readonly Reason<Refused>[] = [
  [
    'content_encoding_misused',
    (refused) => {
      const names = namesIn(refused, (name) => TEXT_ENCODINGS.includes(name) || isCharset(name))
      return names && `The header content-encoding says ${names}, which is not a compression.`
    },
  ],
  [
    'content_encoding_wrong',
    (refused) => {
      const names = compressionOf(refused)
      return (
        names &&
        isJsonBody(refused) &&
        `The header content-encoding says ${names}, but the body is JSON that is not compressed.`
      )
    },
  ],
  [
    'content_encoding_unsupported',
    (refused) => {
      const names = compressionOf(refused)
      return names && `The header content-encoding says ${names}.`
    },
  ],
]

/** Names the reason why the receiver refuses a method. */
export const explainMethod = (refused: Refused): Finding | undefined => findReason(METHOD_REASONS, refused)

export function explainHandshake({ parameter, url }: Refused): Finding | undefined {
  if (parameter === undefined) return undefined
  return findReason(HANDSHAKE_REASONS, { parameter, url, tokens: parameterOf(url, parameter) })
}

export const explainEncoding = (refused: Refused): Finding | undefined =>
  findReason(ENCODING_REASONS, refused)
