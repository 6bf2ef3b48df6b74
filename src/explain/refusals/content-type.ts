import { nearest } from '../../options.ts'
import type { Finding } from '../types.ts'
import { findReason, isJsonBody, type Reason, type Refused } from './refused.ts'

interface ContentType {
  type: string
  essence: string
  isJsonBody: boolean
}

/** Media types that may be named, because they are not chosen freely. */
const OTHER_TYPES = [
  'application/javascript',
  'application/xml',
  'application/x-ndjson',
  'application/jsonl',
  'application/yaml',
  'application/soap+xml',
  'application/xhtml+xml',
  'application/pdf',
  'application/zip',
  'application/gzip',
  'application/msgpack',
  'application/cbor',
  'application/bson',
  'application/ubjson',
  'application/json5',
  'application/jsonc',
  'application/jsonp',
  'application/jsonml',
  'application/hjson',
  'application/cson',
  'application/yson',
  'application/protobuf',
  'application/x-protobuf',
  'text/csv',
  'text/html',
  'text/xml',
  'text/javascript',
  'text/yaml',
  'image/png',
  'image/jpeg',
]

const SUPPORTED = ['application/json', 'application/x-www-form-urlencoded']
const MISSPELT: readonly string[] = [
  'json',
  'application-json',
  'application/x-json',
  'text-json',
  'x-www-form-urlencoded',
  'application/form-urlencoded',
  'application/www-form-urlencoded',
  'application/json-rpc',
  'form',
  'application/jsonrequest',
]

const TYPE_REASONS: readonly Reason<ContentType>[] = [
  ['content_type_missing', ({ type }) => type === '' && 'The header content-type is missing or empty.'],
  [
    'content_type_misspelt',
    ({ type }) =>
      /^[\w.+-]{1,50}\/[\w.+-]{1,50}\s*,\s*\w{1,20}=/.test(type) &&
      'The content type has a comma in place of the semicolon before its parameter.',
  ],
  [
    'content_type_doubled',
    ({ type }) =>
      /,\s*[\w.+-]{1,50}\/[\w.+-]/.test(type) &&
      'The header content-type has several values, joined by commas.',
  ],
  [
    'content_type_misspelt',
    ({ type }) => type.includes(',') && 'The content type has a comma that is not in double quotes.',
  ],
  [
    'content_type_multipart',
    ({ essence }) => essence.startsWith('multipart/') && 'The content type is a multipart type.',
  ],
  [
    'content_type_charset',
    ({ type, essence }) => {
      // Finds the one for which the receiver refuses the type.
      const label = [...type.matchAll(/;\s*charset=([^;]*)/g)]
        .map(([, value = '']) => value)
        .find((value) => !/^"?utf-?8(["\s]|$)/.test(value))
      const isKnown = SUPPORTED.includes(essence) || /^(application|text)\/([\w.-]+\+)?json$/.test(essence)
      if (label === undefined || !isKnown) return undefined
      const name = label.replaceAll('"', '').trim()
      if (isCharset(name)) return `The content type says that the charset is ${name}.`
      return `The parameter charset of the content type ${name === '' ? 'is empty' : 'is not utf-8, but a text that geohook does not know'}.`
    },
  ],
  [
    'content_type_text',
    ({ essence, isJsonBody }) =>
      essence === 'text/plain' && isJsonBody && 'The content type is text/plain, but the body is JSON.',
  ],
  [
    'content_type_binary',
    ({ essence, isJsonBody }) =>
      essence === 'application/octet-stream' &&
      isJsonBody &&
      'The content type is application/octet-stream, but the body is JSON.',
  ],
  [
    'content_type_unsupported',
    ({ essence }) =>
      ['text/plain', 'application/octet-stream', ...OTHER_TYPES].includes(essence) &&
      `The content type is ${essence}.`,
  ],
  [
    'content_type_misspelt',
    ({ essence }) => {
      const [start = ''] = essence.split(/\s/)
      const isSpaced = start !== essence && SUPPORTED.includes(start)
      const meant = SUPPORTED.find((type) => type === start) ?? nearest(essence, SUPPORTED)
      if (isSpaced) return `The content type has other text after ${start} without a semicolon.`
      if (MISSPELT.includes(essence)) return `The content type is ${essence}, which is not a registered type.`
      return meant !== undefined && `The content type is nearly ${meant}, but not exactly.`
    },
  ],
]

/** Returns true for a label of the Encoding standard. Others are not repeated, because they could be any text. */
export function isCharset(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== ''
  } catch {
    return false
  }
}

export function explainContentType(refused: Refused): Finding | undefined {
  const type = (refused.headers.get('content-type') ?? '')
    .trim()
    .toLowerCase()
    .replace(/"[^"]*"/g, (quoted) => quoted.replace(/[,;]/g, '_'))
  const essence = type.split(';')[0]?.trim() ?? ''
  return findReason(TYPE_REASONS, { type, essence, isJsonBody: isJsonBody(refused) })
}
