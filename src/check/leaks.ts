import { MAX_BODY } from './http/reply.ts'
import { describe, failed, passed, undecided } from './judge.ts'
import type { Probe, RecordedReply } from './probe.ts'
import type { Finding } from './types.ts'

/** Bytes of the shortest key to search for. Shorter ones are in unrelated text by chance, and so are words. */
const MIN_SEARCHED = 6
const WORD = /^[a-z]{1,15}$/i

/** Returns the texts in which any response must not contain the key. */
function textsOf(key: Buffer): string[] {
  if (key.length < MIN_SEARCHED || WORD.test(key.toString())) return []
  return [
    key.toString(),
    key.toString('hex'),
    key.toString('base64').replaceAll('=', ''),
    key.toString('base64url'),
  ]
}

/** Makes a receiver respond with errors, so that there are some also if no other scenario runs. */
async function provoke(probe: Probe): Promise<readonly RecordedReply[]> {
  const notJson = Buffer.from('{"events":')
  const { body } = probe.sender.create()
  await probe.deliver(body, { credential: probe.sender.wrongCredential() })
  await probe.deliver(body, { credential: null })
  await probe.deliver(notJson)
  await probe.send({ method: 'PUT', body: notJson })
  return probe.replies
}

/** Looks for the key in all responses. */
export async function findSecret(probe: Probe): Promise<Finding> {
  const { sender } = probe
  const replies = await provoke(probe)
  const texts = textsOf(Buffer.from(sender.key as Uint8Array)).map((text) => text.toLowerCase())
  if (texts.length === 0)
    return undecided(
      `the key is too short to search for, or a word: use a key of ${MIN_SEARCHED} or more bytes, with digits`,
    )
  const found = replies.find((recorded) => {
    const text = textOf(recorded).toLowerCase()
    return texts.some((secret) => text.includes(secret))
  })
  if (found) return failed(`a response with status ${found.reply.status} contains the key`)
  return containsNone(replies, 'the key')
}

/** Looks in each response for the signature of the request body. */
export async function findSignature(probe: Probe): Promise<Finding> {
  const { sender } = probe
  const replies = (await provoke(probe)).filter(({ request }) => request?.body)
  const found = replies.find((recorded) => {
    const { body, headers = [] } = recorded.request ?? {}
    if (!body) return false
    const hex = sender.credential(body, { encoding: 'hex', prefix: '' })
    const base64 = sender.credential(body, { encoding: 'base64', prefix: '' }).replaceAll('=', '')
    const contains = (text: string): boolean => text.toLowerCase().includes(hex) || text.includes(base64)
    // A receiver may echo what a valid delivery contains.
    return contains(textOf(recorded)) && !headers.some(([, value]) => contains(value))
  })
  if (found)
    return failed(
      `a response with status ${found.reply.status} contains the right signature of the request body`,
    )
  return containsNone(replies, 'the signature of its request')
}

/** Parts of stack traces in Node, Python, Java, .NET, PHP, Ruby and Go. */
const TRACES: readonly RegExp[] = [
  /\.[cm]?[jt]s:\d+:\d/,
  /Traceback \(most recent call last\)/,
  /\.py", line \d/,
  /\.(?:java|kt|scala):\d+\)/,
  /\.cs:line \d/,
  /\.php(?:\(\d|:\d| on line )/,
  /\.rb:\d+:in /,
  /\.go:\d/,
]
/** Matches everything that can be a path of Unix or Windows. */
const PATH = /(?:\/|[A-Z]:\\)[\w./\\-]+/g
const SOURCE_ROOT = /^(?:\/(?:home|usr|var|app|srv|opt|root)\/|[A-Z]:)/
const SOURCE_FILE = /\.(?:[cm]?[jt]s|py|rb|php|go|java|cs)$/

/** Links of a page, which are URLs and not paths. */
const LINK = /\b(?:src|href)="[^"]*"/g

const showsSource = (text: string): boolean =>
  TRACES.some((trace) => trace.test(text)) ||
  (text.match(PATH) ?? []).some((path) => SOURCE_ROOT.test(path) && SOURCE_FILE.test(path))

/** Looks for stack traces and file paths in all responses. */
export async function findStackTrace(probe: Probe): Promise<Finding> {
  const replies = await provoke(probe)
  const { pathname } = probe.url
  const found = replies.find((recorded) => {
    const text = textOf(recorded).replace(LINK, '')
    return showsSource(pathname === '/' ? text : text.replaceAll(pathname, ''))
  })
  return found ? failed(describe(found.reply)) : containsNone(replies, 'one')
}

/** Only the beginning of a long body is kept, so nothing is known about its end. */
function containsNone(replies: readonly RecordedReply[], what: string): Finding {
  const long = replies.find(({ reply }) => reply.status !== undefined && reply.body.length >= MAX_BODY)
  return long
    ? undecided(`a response with status ${long.reply.status} is longer than ${MAX_BODY / 1024} KiB`)
    : passed(`none of ${replies.length} responses contains ${what}`)
}

/** Returns the headers and the body of a response as text. */
function textOf({ reply }: RecordedReply): string {
  if (reply.status === undefined) return ''
  return `${reply.headers.map((header) => header.join(': ')).join('\n')}\n${reply.body.toString()}`
}
