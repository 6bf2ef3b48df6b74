import { configInvalid } from '../errors.ts'
import { CAUSES, type Cause } from './causes.ts'
import { findCauses } from './find-causes.ts'
import type { Question } from './question.ts'
import type { CreateReceiver } from './receiver.ts'
import type { Diagnosis, Finding } from './types.ts'

/**
 * Implements `explain`.
 *
 * @throws {WebhookError} `config_invalid` for an unknown code, an invalid option, or a key that is neither a string nor
 *   bytes
 */
export async function diagnose(question: Question, createReceiver: CreateReceiver): Promise<Diagnosis> {
  // The receiver checks the options too, but these two are used before.
  if (typeof (question.signatureHeader ?? '') !== 'string')
    throw configInvalid('signatureHeader must be a string')
  if (typeof (question.clock ?? Date.now) !== 'function') throw configInvalid('clock must be a function')
  return toDiagnosis(await findCauses(question, createReceiver))
}

function toDiagnosis(findings: readonly Finding[]): Diagnosis {
  const [cause, ...also] = [...new Set(findings.map((finding) => finding.cause))] as [Cause, ...Cause[]]
  return {
    ok: cause === 'ok' || cause === 'key_previous',
    cause,
    ...(also.length > 0 && { also }),
    evidence: findings.map(({ evidence }) => evidence).join(' '),
    fix: [cause, ...also].map((name) => CAUSES[name].fix).join(' '),
  }
}
