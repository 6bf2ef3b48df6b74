import { jsonBody } from '../lib/payloads.mjs'
import { ratio, summarize } from '../lib/rounds.mjs'
import { makeSubject } from './request.mjs'
import { measureAll } from './rounds.mjs'

/** What a request with a forged signature costs beside a right one: a stranger can send as many as the network takes. */
export async function measureForged({ smoke }) {
  const options = { body: jsonBody(1024), events: 1, handlers: [['FeaturesCreated', 1]] }
  const right = await makeSubject(options)
  const forged = await makeSubject({ ...options, events: 0, isForged: true })
  const measured = await measureAll([right, forged], smoke)
  const resultOf = (name, subject) => {
    const figures = measured.get(subject)
    return { name, time: summarize(figures), ratio: ratio(figures, measured.get(right)) }
  }
  return [resultOf('right', right), resultOf('forged', forged)]
}
