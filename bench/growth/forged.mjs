import { jsonBody } from '../lib/payloads.mjs'
import { ratio, summarize } from '../lib/rounds.mjs'
import { createSubject } from './request.mjs'
import { measureAll } from './rounds.mjs'

/** Compares requests with forged and valid signatures, because anyone can flood a receiver with forged requests. */
export async function measureForged({ smoke }) {
  const options = { body: jsonBody(1024), events: 1, handlers: [['FeaturesCreated', 1]] }
  const valid = await createSubject(options)
  const forged = await createSubject({ ...options, events: 0, isForged: true })
  const measured = await measureAll([valid, forged], smoke)
  const resultOf = (name, subject) => {
    const figures = measured.get(subject)
    return { name, time: summarize(figures), ratio: ratio(figures, measured.get(valid)) }
  }
  return [resultOf('valid', valid), resultOf('forged', forged)]
}
