import { bodyFormat } from '../../payload/parse.ts'
import { readHeader } from '../../receiver/request.ts'
import { splitSignedForm } from '../../signature/signature.ts'
import { type Html, html } from '../html/template.ts'
import { toSize } from '../html/units.ts'
import { renderWhy } from '../html/why.ts'
import type { HeaderPairs, Item } from '../source.ts'
import type { Tab } from './tab.ts'

/** What the receiver expects next to what the request has. Contains neither a key nor a right signature. */
export const signature: Tab = {
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
  const bag = joinRepeated(headers)
  const inHeader = readHeader(bag, name.toLowerCase())
  const isForm = body && bodyFormat(contentType) === 'form'
  const found = inHeader ?? (isForm ? splitSignedForm(body, name.toLowerCase())?.signature : undefined)
  const length = bag['content-length']
  return [
    [
      isSecret ? 'Key' : 'Signature',
      html`in the header <code>${name}</code>`,
      found === undefined
        ? 'no such header'
        : html`<code>${found}</code>${inHeader === undefined ? ' in a form field' : ''}`,
    ],
    ['Encoding', expectedEncoding, found === undefined ? 'none' : isSecret ? 'not shown' : encodingOf(found)],
    ['Method', html`<code>POST</code>`, html`<code>${method}</code>`],
    ['Content type', 'JSON or a form', contentType === '' ? 'none' : html`<code>${contentType}</code>`],
    ['Content encoding', 'none', bag['content-encoding'] ?? 'none'],
    [
      'Body',
      length === undefined ? 'no content-length' : `${length} bytes, as content-length says`,
      body ? toSize(body.length) : 'not read',
    ],
  ]
}

/** The receiver joins repeated headers too, so a repeated signature is never right. */
function joinRepeated(headers: HeaderPairs): Record<string, string> {
  const bag = new Map<string, string>()
  for (const [header, value] of headers) {
    const name = header.toLowerCase()
    const before = bag.get(name)
    bag.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(bag)
}

/** The form of a signature, without saying whether it is right. */
function encodingOf(value: string): string {
  const bare = value.replace(/^[\w-]+=(?=.)/, '')
  const prefix = bare.length < value.length ? ` after ${value.slice(0, value.length - bare.length)}` : ''
  if (/^[0-9a-f]{64}$/i.test(bare)) return `hex, 64 digits${prefix}`
  if (/^[\w+/-]{43}=?$/.test(bare)) return `base64, ${bare.length} characters${prefix}`
  return `${bare.length} characters, neither 64 hex digits nor 43 or 44 base64 characters${prefix}`
}
