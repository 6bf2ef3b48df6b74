import { type Diagnosis, explain, type SignatureEncoding } from '../../index.ts'
import { noteOn } from '../captures/redact.ts'
import { count, paint, print, printJson } from '../terminal/output.ts'
import { printable, shortened } from '../terminal/printable.ts'
import type { Reception } from './request-listener.ts'

/** What is told of one request. */
export interface ReportOptions {
  signatureKey: readonly string[]
  signatureHeader: string
  encoding: SignatureEncoding
  json: boolean
}

/** What the receiver found. */
export type Finding = 'verified' | 'unsigned' | 'handshake' | 'refused'

export const findingOf = ({ outcome, delivery }: Pick<Reception, 'outcome' | 'delivery'>): Finding => {
  if (outcome.kind === 'handshake') return 'handshake'
  if (!delivery) return 'refused'
  return delivery.keyIndex === undefined ? 'unsigned' : 'verified'
}

/** Finds out why a signature was refused; other refusals say it themselves. */
export async function explainReception(
  { outcome, body, headers }: Reception,
  { signatureKey, signatureHeader, encoding }: ReportOptions,
): Promise<Diagnosis | undefined> {
  if (!outcome.error?.code.startsWith('signature_') || !body || signatureKey.length === 0) return undefined
  if (body.length > MAX_EXPLAINED) return undefined
  const diagnosis = await explain({ body, headers, signatureKey, signatureHeader })
  if (!diagnosis.ok) return diagnosis
  return {
    ok: false,
    cause: 'signature_encoding',
    evidence: `The signature is right, but not written in ${encoding}.`,
    fix: `Leave out --encoding ${encoding}, or let the sender write it so.`,
  }
}

/** Larger bodies take long to explain, and a stranger can send them: they are left to the command explain. */
const MAX_EXPLAINED = 64 * 1024

/** Tells of one request. All that a sender chose goes through `printable`. */
export function tellReception(
  reception: Reception,
  { json }: ReportOptions,
  diagnosis: Diagnosis | undefined,
  capture: string | undefined,
): void {
  const { receivedAt, method, url, headers, body, status, outcome, delivery, forwarded } = reception
  const { error } = outcome
  const finding = findingOf(reception)
  const event = delivery?.events[0]
  if (json) {
    printJson(
      {
        event: 'request',
        receivedAt,
        finding,
        status,
        code: error?.code,
        method,
        url,
        bytes: body?.length,
        id: delivery?.id,
        keyIndex: delivery?.keyIndex,
        changeTypes: delivery?.changeTypes,
        service: event?.service,
        webhook: event?.webhook,
        diagnosis,
        forwarded: forwarded && ('error' in forwarded ? forwarded : { status: forwarded.answer.status }),
        capture,
      },
      0,
    )
    return
  }
  const names = [event?.service.serviceName, event?.webhook.name].filter((name) => name)
  const what = delivery
    ? [delivery.changeTypes.join(', ') || 'no change type', names.join(' / ')]
    : [error?.code ?? '']
  const colour = finding === 'refused' ? paint.red : finding === 'unsigned' ? paint.yellow : paint.green
  const cells = [
    paint.dim(receivedAt.toLocaleTimeString('en-GB')),
    colour(finding.padEnd(9)),
    String(status),
    ...what.filter((cell) => cell).map((cell) => shortened(cell)),
    ...(body ? [count(body.length, 'byte')] : []),
  ]
  print(cells.join('  '))
  if (diagnosis) {
    tell(diagnosis.cause, printable(diagnosis.evidence))
    tell('fix', diagnosis.fix)
    const note = noteOn(diagnosis, headers)
    if (note) tell('note', note)
  } else if (error?.hint) tell('hint', error.hint)
  if (forwarded)
    tell(
      'forwarded',
      printable('error' in forwarded ? forwarded.error : `answered ${forwarded.answer.status}`),
    )
  if (capture) tell('saved', printable(capture))
}

const tell = (name: string, text: string): void => print(`          ${paint.dim(`${name}:`)} ${text}`)
