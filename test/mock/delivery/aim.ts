import express from 'express'
import { createReceiver, type DuplicateStore } from 'geohook'
import { webhook } from 'geohook/express'
import type { MockService, MockServiceOptions } from 'geohook/mock'
import { onTestFinished } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY } from '../../helpers/deliver.ts'
import { listen } from '../../helpers/mounts/mounted.ts'
import { createRecorder, type Recorder } from '../../helpers/recorder.ts'
import { create, seed } from '../support.ts'
import { PLAIN } from './support.ts'

/** The three kinds of deliveries, and the settings of the mock service that produce them. */
export const FORMS = {
  'JSON, signed in the header': {},
  'a form, signed in the header': { contentType: FORM_TYPE },
  'a form, signed in a field': { contentType: FORM_TYPE, signatureIn: 'field' },
} as const
export type Form = keyof typeof FORMS
export const forms = Object.keys(FORMS) as Form[]

export interface Aimed {
  service: MockService
  recorder: Recorder
  /** The change types that the handler received. */
  handled: string[]
}

/** Starts a mock service that delivers to our own receiver in Express. */
export async function aim(
  form: Form = 'JSON, signed in the header',
  { handle, duplicates }: { handle?: (recorder: Recorder) => unknown; duplicates?: DuplicateStore } = {},
  options: MockServiceOptions = {},
): Promise<Aimed> {
  const recorder = createRecorder()
  const handled: string[] = []
  const receiver = createReceiver({
    signatureKey: KEY,
    bodyTimeout: 1_000,
    observer: recorder.observer,
    duplicates,
  }).on('*', async ({ changeType }) => {
    handled.push(changeType)
    await handle?.(recorder)
  })
  const mounted = await listen(express().post('/hook', webhook(receiver)))
  onTestFinished(mounted.close)
  const { contentType, signatureIn }: { contentType?: typeof FORM_TYPE; signatureIn?: 'field' } = FORMS[form]
  const service = create([seed(PLAIN, { hookUrl: mounted.url, contentType: contentType ?? JSON_TYPE })], {
    settings: { notificationAttempts: 2, notificationElapsedTimeInSeconds: 0 },
    like: { signature: { signatureIn } },
    ...options,
  })
  return { service, recorder, handled }
}
