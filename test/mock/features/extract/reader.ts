/** A change document, as far as the tests read it. */
export interface Document {
  layerServerGens: { id: number; serverGen: number }[]
  transportType: string
  responseType: string
  edits?: LayerEdits[]
  extent?: Record<string, unknown> | null
}

export interface Row {
  attributes: Record<string, unknown>
  geometry?: unknown
}

export interface LayerEdits {
  id: number
  features?: { adds: Row[]; updates: Row[]; deleteIds: string[]; deletes?: Row[]; fieldUpdates?: number[] }
  objectIds?: { adds: number[]; updates: number[]; deletes: number[]; fieldUpdates?: number[] }
  attachments?: { adds: AttachmentRow[]; updates: AttachmentRow[]; deleteIds: string[] }
  hasGeometryUpdates?: boolean
}

export interface AttachmentRow {
  attachmentId: number
  globalId: string
  parentGlobalId: string
  name: string
  contentType: string
  size: number
  url?: string
  data?: string
}

/** An error that the service reported, or a response that a reader must refuse. */
export class ReadError extends Error {
  readonly code: number | string
  readonly details: readonly string[]

  constructor(code: number | string, message: string, details: readonly string[] = []) {
    super(message)
    this.code = code
    this.details = details
  }
}

export interface ReaderOptions {
  method?: 'GET' | 'POST'
  /** Returns the token; called again after an error 498. */
  token?: () => Promise<string>
  maxPolls?: number
  /** Called before each poll. */
  beforePoll?: () => Promise<void>
}

/** What a reader did: the states that it saw, and the URLs that it asked with a token. */
export interface Trace {
  states: string[]
  urls: string[]
  origins: Set<string>
}

/**
 * A correct reader of changes: it takes both kinds of answers, polls with a limit, renews its token once per step, and
 * follows redirects of the file without the token.
 */
export function createReader({ method = 'POST', token, maxPolls = 20, beforePoll }: ReaderOptions = {}) {
  const trace: Trace = { states: [], urls: [], origins: new Set() }
  let current: string | undefined

  async function send(url: string, fields: Record<string, string>, how: 'GET' | 'POST'): Promise<Response> {
    trace.urls.push(url)
    trace.origins.add(new URL(url).origin)
    const form = new URLSearchParams({ ...fields, ...(current === undefined ? {} : { token: current }) })
    if (how === 'POST') return fetch(url, { method: 'POST', body: form, redirect: 'manual' })
    return fetch(`${url}${url.includes('?') ? '&' : '?'}${form}`, { redirect: 'manual' })
  }

  /** Sends a request, and once more with a new token if the token has expired. */
  async function ask(url: string, fields: Record<string, string>, how: 'GET' | 'POST'): Promise<Response> {
    current ??= await token?.()
    const response = await send(url, fields, how)
    if (!token || (await codeOf(response.clone())) !== 498) return response
    current = await token()
    return send(url, fields, how)
  }

  async function readFile(url: string): Promise<Document> {
    let response = await ask(url, {}, 'GET')
    const { origin } = new URL(url)
    let from = url
    for (let hops = 0; response.status >= 300 && response.status < 400; hops++) {
      if (hops === 4) throw new ReadError('redirects', 'there are too many redirects')
      const next = new URL(response.headers.get('location') ?? '', from)
      from = next.href
      response =
        next.origin === origin ? await ask(from, {}, 'GET') : await fetch(from, { redirect: 'manual' })
      trace.origins.add(next.origin)
    }
    return (await readJson(response)) as unknown as Document
  }

  async function waitFor(statusUrl: string): Promise<Document> {
    for (let polls = 0; polls < maxPolls; polls++) {
      await beforePoll?.()
      const job = await readJson(await ask(statusUrl, { f: 'json' }, 'GET'), false)
      const state = String(job.status)
      trace.states.push(state)
      if (/^(completed ?with ?errors|failed|cancelled)$/i.test(state))
        throw new ReadError(state, (job.error as { message?: string } | undefined)?.message ?? state)
      if (state === 'Completed' && job.resultUrl !== '') return readFile(String(job.resultUrl))
    }
    throw new ReadError('timeout', `no result after ${maxPolls} polls`)
  }

  return {
    trace,
    /** @param url of `extractChanges`, with or without a query */
    async extract(url: string, fields: Record<string, string> = {}): Promise<Document> {
      const answer = await readJson(await ask(url, { ...fields, f: 'json' }, method))
      return 'statusUrl' in answer ? waitFor(String(answer.statusUrl)) : (answer as unknown as Document)
    },
  }
}

/** @throws {ReadError} for an error, and for a response that is not JSON */
async function readJson(response: Response, refuseErrors = true): Promise<Record<string, unknown>> {
  const text = await response.text()
  let json: Record<string, unknown>
  try {
    json = JSON.parse(text)
  } catch {
    throw new ReadError('not_json', text.slice(0, 40))
  }
  const error = json.error as { code: number; message: string; details?: string[] } | undefined
  if (error && (refuseErrors || json.status === undefined))
    throw new ReadError(error.code, error.message, error.details)
  return json
}

async function codeOf(response: Response): Promise<number | undefined> {
  try {
    return JSON.parse(await response.text()).error?.code
  } catch {
    return undefined
  }
}

/** A copy of the features of a service, by layer and global id. */
export type Copy = Map<
  number,
  { features: Map<string, Row>; attachments: Map<string, { parent: string; data: string }> }
>

/** Applies a document to a copy: a feature that is deleted takes its attachments with it. */
export function applyDocument(copy: Copy, { edits = [] }: Document): void {
  for (const { id, features, attachments } of edits) {
    const layer = copy.get(id) ?? { features: new Map(), attachments: new Map() }
    copy.set(id, layer)
    for (const { attributes, geometry } of [...(features?.adds ?? []), ...(features?.updates ?? [])])
      layer.features.set(
        String(attributes.GlobalID),
        geometry === undefined ? { attributes } : { attributes, geometry },
      )
    for (const { globalId, parentGlobalId: parent, data = '' } of [
      ...(attachments?.adds ?? []),
      ...(attachments?.updates ?? []),
    ])
      layer.attachments.set(globalId, { parent, data })
    for (const globalId of attachments?.deleteIds ?? []) layer.attachments.delete(globalId)
    for (const globalId of features?.deleteIds ?? []) {
      layer.features.delete(globalId)
      for (const [file, { parent }] of layer.attachments)
        if (parent === globalId) layer.attachments.delete(file)
    }
  }
}
