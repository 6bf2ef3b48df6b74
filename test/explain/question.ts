import {
  type Diagnosis,
  type ExplainOptions,
  explain,
  type GivenRequest,
  type ReceiverOptions,
} from 'geohook'

/** A request, the options of its receiver, and those of `explain`, in one object. */
export type Question = GivenRequest & Partial<ReceiverOptions> & ExplainOptions

/** Calls `explain`. */
export function diagnosisOf(question: Question): Promise<Diagnosis> {
  const { body, headers, method, url, params, remoteAddress, code, thorough, ...receiver } = question
  const request = { body, headers, method, url, params, remoteAddress, code }
  return explain(request, receiver as Partial<ReceiverOptions>, { thorough })
}
