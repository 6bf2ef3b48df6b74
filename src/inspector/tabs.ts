import type { Parsed, WebhookEvent } from '../payload/events.ts'
import { parsePayload } from '../payload/parse.ts'
import { isHidden } from '../shared/redact.ts'
import { shellQuote } from '../shared/words.ts'
import { type Context, deliveryPath, isoText, renderOutcome, renderTime, renderWhy } from './html/page.ts'
import { type Html, html, renderFacts, renderTable, toSize } from './html/template.ts'
import { findSignature, headerOf, isText, pathOf, prettyBody, textOf } from './request.ts'
import type { AttemptEntry, Item, ItemFate } from './source.ts'

/** One view of a delivery. A new tab needs an entry in `TABS`. */
export interface Tab {
  /** Last segment of its path; empty for the first tab. */
  readonly name: string
  readonly title: string
  render(item: Item, context: Context): Html | Promise<Html>
}

const overview: Tab = {
  name: '',
  title: 'Overview',
  async render(item) {
    const { time, changeTypes, service, webhook, target, milliseconds, size, request, facts, fates } = item
    return html`${await renderWhy(item)}${renderFacts([
      ['Time', html`${renderTime(time)} <small>${isoText(time)}</small>`],
      ['Change types', changeTypes.join(', ') || 'unknown'],
      ['Service', service],
      ['Webhook', webhook],
      ['Request', `${request.method} ${target ?? (request.url || '(the address is not stored)')}`],
      ['Content type', request.contentType || 'none'],
      ['Size', toSize(size)],
      ['Duration', milliseconds === undefined ? undefined : `${milliseconds} ms`],
      ['Attempts', fates ? undefined : String(item.attempts)],
      ...facts,
    ])}${fates && renderFates(fates)}`
  },
}

const renderFates = (fates: readonly ItemFate[]): Html =>
  html`<h3>Handlers</h3>
${renderFacts(fates.map((fate) => [fate.handler, html`${renderOutcome(fate.outcome)} ${fate.details}`]))}`

const headers: Tab = {
  name: 'headers',
  title: 'Headers',
  render: ({
    request: { method, url, headers },
  }) => html`<p class="request-line"><code>${method} ${url}</code></p>
${renderTable(
  ['Header', 'Value'],
  headers.map(([name, value]) => [html`<code>${name}</code>`, html`<code>${value}</code>`]),
)}`,
}

/** Maximum number of bytes that a view shows; the download has all of them. */
const MAX_SHOWN = 256 * 1024

const VIEWS: readonly (readonly [
  name: string,
  title: string,
  render: (body: Uint8Array, item: Item) => string,
])[] = [
  ['pretty', 'Pretty', (body, { request }) => prettyBody(body, request.contentType)],
  ['raw', 'Raw', (body) => textOf(body)],
  ['hex', 'Hex', hexDump],
]

const body: Tab = {
  name: 'body',
  title: 'Body',
  render(item, context) {
    const { id, request } = item
    const bytes = request.body
    if (!bytes)
      return html`<p>The body is not available: it could not be read, or newer deliveries took its place.</p>`
    const asked = context.request.query.get('view')
    const [current, , render] = VIEWS.find(([name]) => name === asked) ?? VIEWS[0]!
    const shown = bytes.subarray(0, MAX_SHOWN)
    return html`${viewLinks(context, id, current)}
<p>${toSize(bytes.length)}${
      shown.length < bytes.length ? html`; only the first ${toSize(MAX_SHOWN)} are shown` : ''
    }. <a href="${context.href(deliveryPath(id, 'download'))}" download>Download</a></p>
<pre class="bytes" tabindex="0" aria-label="Body">${render(shown, item)}</pre>
`
  },
}

const viewLinks = ({ href }: Context, id: string, current: string): Html =>
  html`<ul class="views" aria-label="Views">${VIEWS.map(
    ([name, title]) =>
      html`<li><a href="${href(deliveryPath(id, 'body'), { view: name })}"${name === current ? html` aria-current="true"` : ''}>${title}</a></li>`,
  )}</ul>`

const WIDTH = 16

/** Lines with an offset, 16 bytes in hex, and the printable ASCII characters among them. */
function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let start = 0; start < bytes.length; start += WIDTH) {
    const line = bytes.subarray(start, start + WIDTH)
    const hex = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = Array.from(line, (byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.',
    ).join('')
    lines.push(`${start.toString(16).padStart(8, '0')}  ${hex.padEnd(WIDTH * 3 - 1)}  ${text}`)
  }
  return lines.join('\n')
}

const MAX_EVENTS = 200

const events: Tab = {
  name: 'events',
  title: 'Events',
  render(item) {
    const parsed = parse(item)
    if (typeof parsed === 'string') return html`<p>The payload cannot be decoded: ${parsed}</p>`
    const { events } = parsed
    return html`<ol class="events">
${events.slice(0, MAX_EVENTS).map(
  (event) => html`<li><h3>${event.changeType}</h3>
${renderEvent(event)}</li>
`,
)}</ol>
${events.length > MAX_EVENTS ? html`<p>${events.length - MAX_EVENTS} more events are not shown.</p>` : ''}`
  },
}

function parse({ request: { body, contentType }, signature }: Item): Parsed | string {
  if (!body) return 'the body is missing'
  const parsed = parsePayload({ body, contentType, profile: { signatureHeader: signature.name } })
  return parsed.ok ? parsed : parsed.message
}

const renderEvent = ({
  when,
  service,
  webhook,
  layerId,
  jobId,
  taskName,
  changesUrl,
  statusUrl,
}: WebhookEvent): Html =>
  renderFacts([
    ['When', when?.toISOString()],
    ['Service', [service.folderName, service.serviceName].filter(Boolean).join('/')],
    ['Service type', service.serviceType],
    ['Webhook', webhook.name ?? webhook.id],
    ['Layer', layerId === undefined ? undefined : String(layerId)],
    ['Job', jobId],
    ['Task', taskName],
    ['Changes URL', changesUrl],
    ['Status URL', statusUrl],
  ])

/** What the receiver expects next to what the request has. Contains neither a key nor a right signature. */
const signature: Tab = {
  name: 'signature',
  title: 'Signature',
  async render(item) {
    return html`<p>${STATES[item.signature.state](item)}</p>
${await renderWhy(item)}<table class="compare">
<thead><tr><td></td><th scope="col">Expected</th><th scope="col">In the request</th></tr></thead>
<tbody>
${comparison(item).map(
  ([name, expected, found]) => html`<tr><th scope="row">${name}</th><td>${expected}</td><td>${found}</td></tr>
`,
)}</tbody></table>
`
  },
}

const STATES: Readonly<Record<Item['signature']['state'], (item: Item) => string>> = {
  verified: ({ signature: { key, encoding, name, isSecret } }) =>
    isSecret
      ? `The header ${name} contains ${key ?? 'the key'}. The body is not signed.`
      : `The signature was verified with ${key ?? 'the key'}${encoding ? `; it was sent in ${encoding}` : ''}.`,
  unsigned: ({ outcome }) =>
    `The delivery has no signature${outcome.tone === 'bad' ? '' : ', and was accepted without one'}.`,
  refused: ({ code }) => `The request was refused${code ? ` with ${code}` : ''}.`,
  signed: ({ signature: { key, encoding } }) =>
    `The service signed the delivery with ${key ?? 'the key of the webhook'}${encoding ? ` in ${encoding}` : ''}.`,
}

function comparison({
  signature: { name, expectedEncoding, isSecret },
  request,
}: Item): [string, string | Html, string | Html][] {
  const { headers, body, contentType, method } = request
  const found = findSignature(request, name)
  const length = headerOf(headers, 'content-length')
  return [
    [
      isSecret ? 'Key' : 'Signature',
      html`in the header <code>${name}</code>`,
      found === undefined
        ? 'no such header'
        : html`<code>${found.value}</code>${found.isInField ? ' in a form field' : ''}`,
    ],
    [
      'Encoding',
      expectedEncoding,
      found === undefined ? 'none' : isSecret ? 'not shown' : encodingOf(found.value),
    ],
    ['Method', html`<code>POST</code>`, html`<code>${method}</code>`],
    ['Content type', 'JSON or a form', contentType === '' ? 'none' : html`<code>${contentType}</code>`],
    ['Content encoding', 'none', headerOf(headers, 'content-encoding') ?? 'none'],
    [
      'Body',
      length === undefined ? 'no content-length' : `${length} bytes, as content-length says`,
      body ? toSize(body.length) : 'not read',
    ],
  ]
}

/** The form of a signature, without saying whether it is right. */
function encodingOf(value: string): string {
  const bare = value.replace(/^[\w-]+=(?=.)/, '')
  const prefix = bare.length < value.length ? ` after ${value.slice(0, value.length - bare.length)}` : ''
  if (/^[0-9a-f]{64}$/i.test(bare)) return `hex, 64 digits${prefix}`
  if (/^[\w+/-]{43}=?$/.test(bare)) return `base64, ${bare.length} characters${prefix}`
  return `${bare.length} characters, neither 64 hex digits nor 43 or 44 base64 characters${prefix}`
}

const attempts: Tab = {
  name: 'attempts',
  title: 'Attempts',
  render({ attemptLog }) {
    if (attemptLog.length === 0) return html`<p>No attempts yet.</p>`
    return html`<ol class="attempts">
${attemptLog.map(renderAttempt)}</ol>
`
  },
}

const MAX_ANSWER = 16 * 1024

const renderAttempt = ({ number, time, tone, result, milliseconds, note, answer }: AttemptEntry): Html =>
  html`<li><h3>Attempt ${number} <span class="outcome ${tone}">${result}</span></h3>
<p>${renderTime(time)}${milliseconds === undefined ? '' : html`, ${milliseconds} ms`}${note === undefined ? '' : html`: ${note}`}</p>
${
  answer === undefined
    ? ''
    : html`<details><summary>Response</summary>
<pre class="bytes" tabindex="0" aria-label="Response of attempt ${number}">${[
        ...answer.headers.map(([name, value]) => `${name}: ${value}`),
        '',
        answer.body.slice(0, MAX_ANSWER),
      ].join('\n')}</pre></details>
`
}</li>
`

const PLACEHOLDER = 'http://receiver.example'

/** curl computes these headers itself. */
const COMPUTED = /^(host|content-length|connection|transfer-encoding|expect)$/i

const curl: Tab = {
  name: 'curl',
  title: 'curl',
  render(item, { href }) {
    const { address, body } = item.request
    return html`<p>Sends the same bytes and headers again. Redacted headers are missing.${
      address === undefined ? ` The address of the receiver is unknown: replace ${PLACEHOLDER}.` : ''
    }${body ? '' : ' The body is not recorded, so the command sends none.'}</p>
<pre class="bytes" tabindex="0" id="curl" aria-label="curl command">${toCurl(item)}</pre>
<p><button type="button" class="scripted-only" data-copy="curl">Copy</button> <a href="${href(deliveryPath(item.id, 'download'))}" download>Download the body</a></p>
`
  },
}

/** A command for a POSIX shell. A body that is not text is read from the downloaded file. */
function toCurl({
  id,
  request: { method, url, address = PLACEHOLDER + pathOf(url), headers, body },
}: Item): string {
  const sent = headers.filter((header) => !COMPUTED.test(header[0]) && !isHidden(header))
  const bytes = body ?? new Uint8Array()
  const isInline = isText(bytes) && bytes.length <= MAX_INLINE
  const lines = [
    ...(isInline && bytes.length > 0 ? [`printf %s ${shellQuote(textOf(bytes))} |`] : []),
    // Senders choose the method too. The options keep curl from expanding brackets and from removing dot segments.
    `curl -X ${/^[A-Z]+$/.test(method) ? method : shellQuote(method)} -g --path-as-is ${shellQuote(address)}`,
    // curl removes a header without a value, unless it ends with a semicolon, and adds a missing content type.
    ...sent.map(([name, value]) => `  -H ${shellQuote(value === '' ? `${name};` : `${name}: ${value}`)}`),
    ...(sent.some(([name]) => name.toLowerCase() === 'content-type') ? [] : [`  -H 'content-type:'`]),
    // `@-` reads the bytes from standard input, and does not take an @ or a line break in them for something else.
    `  --data-binary ${!isInline ? shellQuote(`@${id}.bin`) : bytes.length > 0 ? '@-' : "''"}`,
  ]
  return lines
    .map((line, index) => (index === lines.length - 1 || line.endsWith('|') ? line : `${line} \\`))
    .join('\n')
}

const MAX_INLINE = 64 * 1024

/** The tabs of a delivery, in the order of their links. */
export const TABS: readonly Tab[] = [overview, body, headers, events, signature, attempts, curl]
