// `of` of geohook/changes returns changes of the documented shape, or throws a ChangesError with a documented code and a
// hint. No error contains the token, nor does its cause. The token is sent only to an allowed origin. toGeoJson and
// readEditor accept every feature, or throw changes_malformed.
//
// An input is blocks with empty lines between them: the event as JSON, then the responses of the service. The first
// character of a response selects its status, the rest is its body, or the target of a redirect.
import { ChangesError, createChanges, readEditor, toGeoJson } from '../../../src/changes/index.ts'
import { WebhookError } from '../../../src/errors.ts'
import { require, requireNoPollution } from './support.mjs'

const TOKEN = 'sekret+t0ken'
const SPELLINGS = [TOKEN, encodeURIComponent(TOKEN)]
const ORIGIN = 'https://gis.example.com'
const STATUSES = [200, 302, 404, 500, 401, 503, 200, 0]
const CODES = [
  'url_refused',
  'token_rejected',
  'failed',
  'timeout',
  'malformed',
  'too_large',
  'unavailable',
].map((code) => `changes_${code}`)
const SERVICE = `${ORIGIN}/rest/services/Parcels/FeatureServer`

// Pauses between requests end at once; the time limit of five minutes never passes.
globalThis.setTimeout = (run, milliseconds) => {
  if (milliseconds < 300_000) queueMicrotask(run)
  return 0
}
globalThis.clearTimeout = () => {}

let responses = []
/** What a request did wrong. `of` would take an error of `fetch` for a failed connection. */
let violation
/** True if the event or a URL in a response contains the token, even with line breaks: then errors may show it. */
let mayShowToken = false
const client = createChanges({
  token: TOKEN,
  origins: [ORIGIN],
  limit: 3000,
  deletedFeatures: true,
  async fetch(url, { headers, body }) {
    const hasToken = headers?.['X-Esri-Authorization'] !== undefined || body?.has('token')
    if (hasToken && url.origin !== ORIGIN) violation = `the token was sent to ${url.origin}`
    if (!mayShowToken && url.href.includes('sekret')) violation = 'the token is in a URL'
    return toResponse(responses.shift() ?? Buffer.from('2'))
  },
})

export const words = [
  ...[TOKEN, encodeURIComponent(TOKEN), SERVICE, `${SERVICE}/jobs/1`, 'https://files.example.com/a.json'],
  ...[
    '{"status":"Completed","resultUrl":"',
    '{"statusUrl":"',
    '{"error":{"code":498,"message":"',
    '"edits":[',
  ],
  ...[
    '"features":{"adds":[{"attributes":{}',
    '"geometry":{"rings":[[[0,0],[0,1],[1,1],[0,0]]]}',
    '"deleteIds":[1]',
  ],
]
const event = JSON.stringify({
  changeType: 'FeaturesEdited',
  changesUrl: `${SERVICE}/extractChanges?serverGens=[1,2]&layers=0&returnInserts=true`,
})
const edits =
  '"layerServerGens":[{"id":0,"serverGen":9}],"edits":[{"id":0,"features":{"adds":[{"attributes":{"OBJECTID":1,"EditDate":1},"geometry":{"x":1,"y":2}},{"attributes":{"FID":"a"},"geometry":{"rings":[[[0,0],[0,2],[2,2],[0,0]],[[1,1],[1,1.5],[1.5,1.5],[1,1]]]}}],"updates":[{"attributes":{},"geometry":{"paths":[[[0,0,5],[1,1,5]]],"hasZ":true}}],"deletes":[{"attributes":{"globalid":"g"}}],"deleteIds":["g"]},"attachments":{"adds":[{"attachmentId":1,"name":"a","size":2,"url":"https://gis.example.com/a"}],"updates":[],"deleteIds":["b"]}}]'
export const seeds = [
  `${event}\n\n0{${edits}}`,
  `${event}\n\n0{"statusUrl":"${SERVICE}/jobs/1"}\n\n0{"status":"Pending"}\n\n0{"status":"Completed","resultUrl":"${SERVICE}/r"}\n\n1https://files.example.com/r\n\n0{${edits}}`,
  `${event}\n\n0{"statusUrl":"${SERVICE}/jobs/1"}\n\n0{"status":"Failed","error":{"code":500,"description":"a ${TOKEN}"}}`,
  `${event}\n\n0{"error":{"code":498,"message":"Invalid Token ${TOKEN}","details":[]}}`,
  `${event}\n\n5\n\n0{"edits":[{"id":0,"objectIds":{"adds":[1],"updates":[],"deletes":[2]}}]}`,
  `${event}\n\n0{"statusUrl":"${SERVICE}/jobs/1"}\n\n0{"status":"esriJobSucceeded","responseType":"esriDataChangesResponseTypeNoEdits"}`,
]

export async function run(input) {
  const [first, ...rest] = splitBlocks(input)
  responses = rest
  violation = undefined
  const source = readEvent(first)
  mayShowToken =
    JSON.stringify(source).includes('sekret') ||
    /https?:[^"\s]*sekret/i.test(input.toString('latin1')) ||
    rest.some((block) => statusOf(block) === 302 && `${block}`.replaceAll(/\s/g, '').includes('sekret'))
  let changes
  try {
    changes = await client.of(source)
  } catch (error) {
    requireDocumented(error)
  }
  require(violation === undefined, violation)
  if (changes) requireChanges(changes)
}

function splitBlocks(input) {
  const blocks = []
  let start = 0
  let end = input.indexOf('\n\n')
  while (end >= 0) {
    blocks.push(input.subarray(start, end))
    start = end + 2
    end = input.indexOf('\n\n', start)
  }
  return [...blocks, input.subarray(start)]
}

const statusOf = (block) => STATUSES[(block[0] ?? 0) & 7]

function readEvent(block) {
  try {
    const { changeType, changesUrl } = JSON.parse(block.toString('utf8'))
    return {
      changeType: String(changeType),
      ...(changesUrl === undefined ? {} : { changesUrl: String(changesUrl) }),
    }
  } catch {
    return JSON.parse(event)
  }
}

/** A response of `fetch`, with the members that geohook uses. Creating a real one takes longer than the rest. */
function toResponse(block) {
  const status = statusOf(block)
  if (status === 0) throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
  const body = block.subarray(1)
  const headers = new Map(status === 302 ? [['location', body.toString('latin1')]] : [])
  if (status === 503) headers.set('retry-after', body.toString('latin1', 0, 4))
  const chunks = [Uint8Array.from(body)]
  return {
    status,
    ok: status === 200,
    headers: { get: (name) => headers.get(name) ?? null },
    body: {
      getReader: () => ({ read: async () => ({ value: chunks.shift() }), cancel: async () => {} }),
      cancel: async () => {},
    },
  }
}

function requireDocumented(error) {
  require(error instanceof ChangesError, 'not a ChangesError', String(error?.stack ?? error))
  const { code, hint } = error
  require(CODES.includes(code), 'undocumented code', code)
  require(typeof hint === 'string' && hint !== '', 'no hint', code)
  if (mayShowToken) return
  for (const text of textsOf(error))
    require(!SPELLINGS.some((spelling) => text.includes(spelling)), 'the token is in an error', text)
}

/** All texts in a value, also in members that are not enumerable, such as the message of an error. */
function textsOf(value, depth = 0) {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth > 5) return []
  return Object.getOwnPropertyNames(value).flatMap((name) => textsOf(value[name], depth + 1))
}

function requireChanges({ layers, layerServerGens }) {
  for (const { id, serverGen } of layerServerGens)
    require(Number.isSafeInteger(id) && Number.isSafeInteger(serverGen), 'layerServerGens', layerServerGens)
  for (const layer of layers) {
    const { id, adds, updates, deletes, attachments } = layer
    require(Number.isSafeInteger(id), 'the id of a layer', id)
    requireNoPollution(layer)
    for (const feature of [...adds, ...updates, ...(deletes.features ?? [])]) requireFeature(feature)
    for (const text of [...deletes.ids, ...attachments.deleteIds])
      require(typeof text === 'string', 'a deleted id', text)
    for (const { attachmentId, size, name, ...others } of [...attachments.adds, ...attachments.updates]) {
      require(Number.isFinite(attachmentId) &&
        Number.isFinite(size), 'numbers of an attachment', attachmentId, size)
      for (const text of [name, ...Object.values(others)])
        require(typeof text === 'string', 'an attachment', others)
    }
  }
}

function requireFeature(feature) {
  require(typeof feature.attributes === 'object' &&
    feature.attributes !== null, 'the attributes of a feature')
  const { createdAt, editedAt } = readEditor(feature)
  for (const date of [createdAt, editedAt])
    require(!date || Number.isFinite(date.getTime()), 'a date of readEditor')
  try {
    const { geometry } = toGeoJson(feature)
    require(geometry === null || typeof geometry === 'object', 'a geometry', geometry)
    requireNumbers(geometry?.coordinates ?? [])
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    require(error.code === 'changes_malformed', 'the code of toGeoJson', error.code)
  }
}

function requireNumbers(coordinates) {
  for (const item of coordinates)
    if (Array.isArray(item)) requireNumbers(item)
    else require(Number.isFinite(item), 'a coordinate', item)
}
