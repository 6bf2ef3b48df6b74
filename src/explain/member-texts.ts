import { type Member, parseTree } from './bodies/json-tree.ts'
import { decodeAs } from './text.ts'
import type { Hypothesis } from './types.ts'
import { MAX_BODY } from './work.ts'

/** Names of members that contain a signature, and of members that senders sign in place of the whole body. */
const SIGNATURE = /(^|[-_])(sig|sign|signature|hmac|hash|checksum|digest|mac)$|signature/i
const SIGNED = /^(payload|data|event|events|body|message|content|object|attributes|params)$/i

/** Maximum number of members that are read, and that are tried. */
const MAX_READ = 100
const MAX_TRIED = 4

/** Returns the members of a JSON object. Returns an empty list for other bodies, and for large ones. */
export function readMembers(text: string | undefined): readonly Member[] {
  const tree = text === undefined ? undefined : parseTree(text)
  return tree?.kind === 'object' ? tree.members.slice(0, MAX_READ) : []
}

/** Decodes the body, unless it is too large to be searched for members. */
export const readText = (body: Uint8Array): string | undefined =>
  body.length > MAX_BODY ? undefined : decodeAs(body, 'utf-8')

/** Yields parts of a JSON body that senders sign if the signature is a member of the body. */
export function* memberTexts(body: Uint8Array): Generator<Hypothesis> {
  const text = readText(body)
  const members = readMembers(text)
  const signatures = members.filter(([name]) => SIGNATURE.test(name)).slice(0, MAX_TRIED)
  if (text === undefined || signatures.length === 0) return
  for (const member of signatures) {
    const description = 'the JSON of the body without the member for the signature'
    yield ['signed_text', withoutMember(text, member), description]
    yield ['signed_text', JSON.stringify({ ...JSON.parse(text), [member[0]]: undefined }), description]
    const [, { raw }, start, end] = member
    const emptied = text.slice(start, end).replace(raw, () => '""')
    yield [
      'signed_text',
      text.slice(0, start) + emptied + text.slice(end),
      'the JSON of the body with an empty text as the signature',
    ]
  }
  for (const [name, value] of members.filter(([name]) => SIGNED.test(name)).slice(0, MAX_TRIED)) {
    const description = `only the member ${name} of the body`
    yield ['signed_text', value.raw, description]
    yield [
      'signed_text',
      value.kind === 'string' ? value.text : JSON.stringify(JSON.parse(value.raw)),
      description,
    ]
  }
}

/** Removes a member of an object from the text, with the comma before or after it. */
function withoutMember(text: string, [, , start, end]: Member): string {
  const before = text.slice(0, start)
  const after = text.slice(end)
  return before.endsWith(',') ? before.slice(0, -1) + after : before + after.replace(/^,\s*/, '')
}
