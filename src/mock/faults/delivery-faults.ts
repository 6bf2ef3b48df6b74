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
