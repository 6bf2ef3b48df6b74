/** Name of a fault of a delivery. */
export type DeliveryFaultName =
  | 'wrong_key'
  | 'altered'
  | 'unsigned'
  | 'truncated'
  | 'wrong_content_type'
  | 'gzip'
  | 'duplicate'
  | 'two_at_once'
  | 'reordered'
  | 'delayed'
  | 'slow_drip'
  | 'connection_dropped'
  | 'wrong_length'
  | 'answer_lost'

/** Effect of each fault of a delivery. */
export const DELIVERY_FAULTS: Readonly<Record<DeliveryFaultName, string>> = {
  wrong_key: 'signed with another key',
  altered: 'one bit is changed after signing',
  unsigned: 'sent without a signature',
  truncated: 'the second half of the body is missing, and content-length says so',
  wrong_content_type: 'sent as text/plain',
  gzip: 'the body is compressed after signing, with content-encoding',
  duplicate: 'sent once more after its success',
  two_at_once: 'sent twice at the same time',
  reordered:
    'held back until the next delivery of the webhook has been sent, but no longer than the delay (default 10 s)',
  delayed: 'held back for the delay (default 5 s)',
  slow_drip: 'its first attempt sends a byte at a time, with the delay (default 100 ms) after each',
  connection_dropped: 'its first attempt ends in the middle of the body',
  wrong_length: 'its first attempt announces one byte more than it sends',
  answer_lost: 'the response to its first attempt is lost, so the delivery is sent again',
}

/** Name of a fault of a change extraction: of `extractChanges`, its jobs and its files. */
export type ExtractionFaultName =
  | 'job_failed'
  | 'completed_with_errors'
  | 'completed_without_url'
  | 'unknown_status'
  | 'result_gone'
  | 'token_expired'
  | 'html_answer'
  | 'error_with_200'
  | 'window_purged'
  | 'ids_only_empty'
  | 'redirect_elsewhere'
  | 'cut_result'
  | 'never_done'

/** Effect of each fault of a change extraction. */
export const EXTRACTION_FAULTS: Readonly<Record<ExtractionFaultName, string>> = {
  job_failed: 'the job ends with the status Failed and an error',
  completed_with_errors: 'the job ends with the status CompletedWithErrors and without a file',
  completed_without_url: 'a poll finds the status Completed, but an empty resultUrl',
  unknown_status: 'a poll finds a status that no client knows',
  result_gone: 'the file is removed before it is read',
  token_expired: 'the response is error 498, as if the token had expired',
  html_answer: 'the response is an HTML page with the status 200',
  error_with_200: 'the response is error 500 with the status 200',
  window_purged: 'the response is the error for generations that are no longer kept',
  ids_only_empty: 'a request with returnIdsOnly finds no changes',
  redirect_elsewhere: 'the file redirects to another host, which does not have it',
  cut_result: 'the connection ends in the middle of the file or of embedded changes',
  never_done: 'the job stays in the last state before Completed',
}

/** Name of a fault of the administration of webhooks. */
export type AdminFaultName =
  | 'admin_slow'
  | 'admin_answer_lost'
  | 'admin_token_expired'
  | 'admin_html_answer'
  | 'edit_member_ignored'
  | 'interval_raised'
  | 'change_types_reordered'
  | 'wildcard_as_all'

/** Effect of each fault of the administration. */
export const ADMIN_FAULTS: Readonly<Record<AdminFaultName, string>> = {
  admin_slow: 'the response to a change is held back for the delay (default 5 s)',
  admin_answer_lost: 'a change is made, but the connection ends without a response',
  admin_token_expired: 'a change is refused with error 498, as if the token had expired',
  admin_html_answer: 'the response to a change is an HTML page with the status 200, and nothing changes',
  edit_member_ignored: 'an edit keeps the old value of one member (default hookUrl)',
  interval_raised: 'create and edit store an interval below 60 seconds as 60 seconds',
  change_types_reordered: 'a response lists change types in reverse order',
  wildcard_as_all: 'a response writes the change type * as All',
}

/** Name of a fault: of a delivery, of a change extraction, or of the administration. */
export type FaultName = DeliveryFaultName | ExtractionFaultName | AdminFaultName

/** Effect of each fault. */
export const FAULTS: Readonly<Record<FaultName, string>> = {
  ...DELIVERY_FAULTS,
  ...EXTRACTION_FAULTS,
  ...ADMIN_FAULTS,
}
