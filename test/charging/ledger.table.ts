/**
 * A ledger's answers, step by step: cases that are worth reading. `table-player.ts` describes the format;
 * `ledger-table.test.ts` plays them.
 */

/** Tables of steps by title. Each begins with an empty ledger. */
export const LEDGER_TABLES: Readonly<Record<string, string>> = {
  "three texts fit a limit for exactly three": `
    2026-03-10 09:00  funds   1.00                          -> ok
    2026-03-10 09:00  limit   company general month  0.027  -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.009  -> yes
    2026-03-10 09:02  charge  chg_2  key_1 of per_1  0.009  -> yes
    2026-03-10 09:03  charge  chg_3  key_1 of per_1  0.009  -> yes
    2026-03-10 09:04  charge  chg_4  key_1 of per_1  0.009  -> no: company's month, used 0.027 of 0.027, resets 2026-04-01
    2026-03-31 23:59  charge  chg_5  key_1 of per_1  0.009  -> no: company's month, used 0.027 of 0.027, resets 2026-04-01
    2026-04-01 00:00  charge  chg_6  key_1 of per_1  0.009  -> yes`,
  "with a limit one micro lower, only two fit": `
    2026-03-10 09:00  funds   1.00                             -> ok
    2026-03-10 09:00  limit   company general month  0.026999  -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.009     -> yes
    2026-03-10 09:02  charge  chg_2  key_1 of per_1  0.009     -> yes
    2026-03-10 09:03  charge  chg_3  key_1 of per_1  0.009     -> no: company's month, used 0.018 of 0.026999, resets 2026-04-01
    2026-03-10 09:04  charge  chg_4  key_1 of per_1  0.008999  -> yes
    2026-03-10 09:05  charge  chg_5  key_1 of per_1  0.000001  -> no: company's month, used 0.026999 of 0.026999, resets 2026-04-01`,
  "a key's limit is exhausted, and another key of the person still works": `
    2026-03-10 09:00  funds   1.00                          -> ok
    2026-03-10 09:00  limit   key_1 all day  0.018          -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.009  -> yes
    2026-03-10 09:02  charge  chg_2  key_1 of per_1  0.009  -> yes
    2026-03-10 09:03  charge  chg_3  key_1 of per_1  0.009  -> no: key_1's day, used 0.018 of 0.018, resets 2026-03-11
    2026-03-10 09:04  charge  chg_4  key_2 of per_1  0.009  -> yes
    2026-03-11 00:00  charge  chg_5  key_1 of per_1  0.009  -> yes`,
  "a week crosses the end of the month": `
    2026-03-30 00:00  funds   1.00                          -> ok
    2026-03-30 00:00  limit   company general week  0.018   -> ok
    2026-03-31 23:59  charge  chg_1  key_1 of per_1  0.009  -> yes
    2026-04-01 00:00  charge  chg_2  key_1 of per_1  0.009  -> yes
    2026-04-01 00:01  charge  chg_3  key_1 of per_1  0.009  -> no: company's week, used 0.018 of 0.018, resets 2026-04-06
    2026-04-01 00:02  limit   company general month  0.018  -> ok
    2026-04-01 00:02  look    company general               -> company's month, used 0.009 of 0.018, resets 2026-05-01
    2026-04-01 00:03  charge  chg_4  key_1 of per_1  0.009  -> yes
    2026-04-05 23:59  limit   company general week  0.027   -> ok
    2026-04-05 23:59  look    company general               -> company's week, used 0.027 of 0.027, resets 2026-04-06
    2026-04-06 00:00  charge  chg_5  key_1 of per_1  0.009  -> yes`,
  "a limit is lowered below the used amount, removed, and raised again": `
    2026-03-10 09:00  funds   1.00                         -> ok
    2026-03-10 09:00  limit   per_1 general month  0.05    -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.03  -> yes
    2026-03-10 09:02  limit   per_1 general month  0.02    -> ok
    2026-03-10 09:03  look    per_1 general                -> per_1's month, used 0.03 of 0.02, resets 2026-04-01
    2026-03-10 09:03  charge  chg_2  key_1 of per_1  0.01  -> no: per_1's month, used 0.03 of 0.02, resets 2026-04-01
    2026-03-10 09:04  remove  per_1 general                -> ok
    2026-03-10 09:04  charge  chg_3  key_1 of per_1  0.01  -> yes
    2026-03-10 09:05  limit   per_1 general month  0.05    -> ok
    2026-03-10 09:05  charge  chg_4  key_1 of per_1  0.01  -> yes
    2026-03-10 09:06  charge  chg_5  key_1 of per_1  0.01  -> no: per_1's month, used 0.05 of 0.05, resets 2026-04-01`,
  "a refund after the end of the month lowers the week, not the new month": `
    2026-03-31 12:00  funds   0.02                          -> ok
    2026-03-31 12:00  limit   company general month  0.02   -> ok
    2026-03-31 12:00  limit   per_1 general week  0.02      -> ok
    2026-03-31 12:01  charge  chg_1  key_1 of per_1  0.02   -> yes
    2026-04-01 12:00  look    company general               -> company's month, used 0.00 of 0.02, resets 2026-05-01
    2026-04-01 12:00  look    per_1 general                 -> per_1's week, used 0.02 of 0.02, resets 2026-04-06
    2026-04-01 12:01  back    chg_1                         -> back 0.02
    2026-04-01 12:02  back    chg_1                         -> nothing new
    2026-04-01 12:02  look    company general               -> company's month, used 0.00 of 0.02, resets 2026-05-01
    2026-04-01 12:02  look    per_1 general                 -> per_1's week, used 0.00 of 0.02, resets 2026-04-06
    2026-04-01 12:03  charge  chg_2  key_1 of per_1  0.02   -> yes
    2026-04-07 12:00  charge  chg_3  key_1 of per_1  0.00   -> yes
    2026-04-07 12:01  charge  chg_4  key_1 of per_1  0.001  -> no: company's month, used 0.02 of 0.02, resets 2026-05-01
    2026-05-01 00:00  charge  chg_5  key_1 of per_1  0.001  -> no: payment_required, funds 0.00`,
  "two limits are exhausted: the person's is named before the company's, and both must have room": `
    2026-03-10 09:00  funds   1.00                          -> ok
    2026-03-10 09:00  limit   company general month  0.018  -> ok
    2026-03-10 09:00  limit   per_1 general week  0.018     -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.018  -> yes
    2026-03-10 09:02  charge  chg_2  key_1 of per_1  0.009  -> no: per_1's week, used 0.018 of 0.018, resets 2026-03-16
    2026-03-10 09:03  limit   per_1 general week  0.027     -> ok
    2026-03-10 09:03  charge  chg_3  key_1 of per_1  0.009  -> no: company's month, used 0.018 of 0.018, resets 2026-04-01
    2026-03-10 09:04  limit   company general month  0.027  -> ok
    2026-03-10 09:04  charge  chg_4  key_1 of per_1  0.009  -> yes
    2026-03-10 09:05  charge  chg_5  key_2 of per_2  0.009  -> no: company's month, used 0.027 of 0.027, resets 2026-04-01`,
  "the app key counts for the signed-in person, and for no person without a sign-in": `
    2026-03-10 09:00  funds   1.00                                -> ok
    2026-03-10 09:00  limit   per_1 general month  0.018 no keys  -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.05         -> yes
    2026-03-10 09:01  look    per_1 general                       -> per_1's month, used 0.00 of 0.018, resets 2026-04-01
    2026-03-10 09:02  charge  chg_2  key_app for per_1  0.018     -> yes
    2026-03-10 09:03  charge  chg_3  key_app for per_1  0.009     -> no: per_1's month, used 0.018 of 0.018, resets 2026-04-01
    2026-03-10 09:04  charge  chg_4  key_app shared  0.009        -> yes
    2026-03-10 09:05  charge  chg_5  key_1 of per_1  0.009        -> yes
    2026-03-10 09:06  charge  chg_6  company  0.009               -> yes`,
  "an operator's refund lowers the windows that still count the charge, once": `
    2026-03-30 09:00  funds   1.00                        -> ok
    2026-03-30 09:00  limit   company general month 0.02  -> ok
    2026-03-30 09:01  charge  chg_1  company  0.02        -> yes
    2026-03-30 09:02  close   chg_1                       -> ok
    2026-03-30 09:03  back    chg_1                       -> nothing new
    2026-03-30 09:04  charge  chg_2  company  0.02        -> no: company's month, used 0.02 of 0.02, resets 2026-04-01
    2026-03-30 09:05  by hand chg_1                       -> back 0.02
    2026-03-30 09:06  by hand chg_1                       -> nothing new
    2026-03-30 09:07  look    company general             -> company's month, used 0.00 of 0.02, resets 2026-04-01
    2026-03-30 09:08  charge  chg_2  company  0.02        -> yes
    2026-04-01 00:00  by hand chg_2                       -> back 0.02
    2026-04-01 00:00  look    company general             -> company's month, used 0.00 of 0.02, resets 2026-05-01
    2026-04-01 00:00  look    funds                       -> 1.00`,
  "an id chosen by a caller is charged once, and can be used again after a refusal": `
    2026-03-10 09:00  funds   0.02                    -> ok
    2026-03-10 09:01  once    order_1  company  0.01  -> yes
    2026-03-10 09:02  once    order_1  company  0.01  -> nothing new
    2026-03-10 09:03  once    order_2  company  0.03  -> no: payment_required, funds 0.01
    2026-03-10 09:04  funds   1.00                    -> ok
    2026-03-10 09:05  once    order_2  company  0.03  -> yes
    2026-03-10 09:06  look    funds                   -> 0.98`,
  "purchases at the end of a month": `
    2026-03-31 23:50  credit  0.00                 -> ok
    2026-03-31 23:50  may     key_1  25  40        -> ok
    2026-03-31 23:51  buy     pur_1  key_1  25.01  -> no: over_purchase_limit, taken 0.00
    2026-03-31 23:52  buy     pur_1  key_1  25     -> ok
    2026-03-31 23:53  buy     pur_2  key_1  15.01  -> no: over_monthly_limit, taken 25.00
    2026-03-31 23:54  buy     pur_2  key_1  15     -> ok
    2026-03-31 23:59  buy     pur_3  key_1  5      -> no: over_monthly_limit, taken 40.00
    2026-04-01 00:00  buy     pur_3  key_1  25     -> 2026-03 closed with 0.00, ok
    2026-04-01 00:01  paid    pur_1                -> ok
    2026-04-01 00:02  buy     pur_4  key_1  15     -> ok
    2026-04-01 00:03  failed  pur_2                -> ok
    2026-04-01 00:04  buy     pur_5  key_1  5      -> no: over_monthly_limit, taken 40.00
    2026-04-01 00:05  failed  pur_3                -> ok
    2026-04-01 00:06  buy     pur_5  key_1  25     -> ok
    2026-04-01 00:07  buy     pur_1  key_1  25     -> nothing new
    2026-04-01 00:08  paid    pur_1                -> nothing new
    2026-04-01 00:09  look    funds                -> 25.00`,
  "a price changes while a box runs, and its minutes keep the price of its start": `
    2026-03-10 09:00  funds   1.00                     -> ok
    2026-03-10 09:00  box     box_1  key_1 of per_1    -> keeps 0.002 of version 1
    2026-03-10 09:00  minute  box_1  1                 -> yes, 0.002 of version 1
    2026-03-10 09:00  price   box_minute_small  0.003  -> 0.003 of version 2
    2026-03-10 09:01  minute  box_1  2                 -> yes, 0.002 of version 1
    2026-03-10 09:01  box     box_2  key_1 of per_1    -> keeps 0.003 of version 2
    2026-03-10 09:01  minute  box_2  1                 -> yes, 0.003 of version 2
    2026-03-10 09:02  minute  box_1  3                 -> yes, 0.002 of version 1
    2026-03-10 09:02  price   box_minute_small  0.003  -> 0.003 of version 2
    2026-03-10 09:02  minute  box_2  2                 -> yes, 0.003 of version 2
    2026-03-10 09:03  look    funds                    -> 0.988`,
  "calls count when they are served, and are charged the next night": `
    2026-03-30 09:00  funds   0.0001                           -> ok
    2026-03-30 09:00  limit   key_1 all day 0.0003             -> ok
    2026-03-30 09:01  call    key_1 of per_1                   -> served
    2026-03-30 09:02  call    key_1 of per_1                   -> served
    2026-03-30 09:02  look    key_1 all                        -> key_1's day, used 0.0002 of 0.0003, resets 2026-03-31
    2026-03-30 09:03  charge  chg_1  key_1 of per_1  0.000101  -> no: key_1's day, used 0.0002 of 0.0003, resets 2026-03-31
    2026-03-30 09:04  charge  chg_2  key_1 of per_1  0.0001    -> 2 of 2026-03-30 counted, yes
    2026-03-30 09:05  call    key_1 of per_1                   -> no: key_1's day, used 0.0003 of 0.0003, resets 2026-03-31
    2026-03-30 09:06  call    key_app shared                   -> served
    2026-03-30 23:59  night                                    -> nothing new
    2026-03-31 00:00  call    key_1 of per_1                   -> 1 of 2026-03-30 counted, served
    2026-03-31 00:01  night                                    -> 1 of 2026-03-31 counted, key_1:per_1:2026-03-30 for 0.0002, key_app:-:2026-03-30 for 0.0001
    2026-03-31 00:02  night                                    -> nothing new
    2026-03-31 00:03  look    key_1 all                        -> key_1's day, used 0.0001 of 0.0003, resets 2026-04-01
    2026-03-31 00:03  look    funds                            -> -0.0003
    2026-03-31 00:04  charge  chg_3  key_1 of per_1  0.0001    -> no: payment_required, funds -0.0003`,
  "the nightly job did not run for three nights": `
    2026-03-30 09:00  credit  0.00               -> ok
    2026-03-30 10:00  call    key_1 of per_1     -> served
    2026-03-30 10:00  call    key_1 of per_1     -> served
    2026-03-31 10:00  call    key_app for per_1  -> 2 of 2026-03-30 counted, served
    2026-03-31 10:00  call    key_app shared     -> served
    2026-04-01 10:00  call    key_1 of per_1     -> 2026-03 closed with 0.00, 2 of 2026-03-31 counted, served
    2026-04-01 10:01  record                     -> 1 of 2026-04-01 counted
    2026-04-02 00:30  night                      -> key_1:per_1:2026-03-30 for 0.0002, key_app:per_1:2026-03-31 for 0.0001, key_app:-:2026-03-31 for 0.0001, key_1:per_1:2026-04-01 for 0.0001
    2026-04-02 00:31  night                      -> nothing new
    2026-04-02 00:32  look    funds              -> -0.0005`,
  "the price of a day's calls is that of its first call": `
    2026-03-30 09:00  limit   company general week 0.0009  -> ok
    2026-03-30 09:01  call    key_1 of per_1               -> served
    2026-03-30 09:02  price   api_call  0.0003             -> 0.0003 of version 2
    2026-03-30 09:03  call    key_1 of per_1               -> served
    2026-03-30 09:04  look    company general              -> company's week, used 0.0002 of 0.0009, resets 2026-04-06
    2026-03-30 23:59  record                               -> 2 of 2026-03-30 counted
    2026-03-30 23:59  call    key_1 of per_1               -> served
    2026-03-31 00:00  call    key_1 of per_1               -> 1 of 2026-03-30 counted, served
    2026-03-31 00:01  call    key_1 of per_1               -> served
    2026-03-31 00:02  look    company general              -> company's week, used 0.0009 of 0.0009, resets 2026-04-06
    2026-03-31 00:03  call    key_1 of per_1               -> no: company's week, used 0.0009 of 0.0009, resets 2026-04-06
    2026-04-01 00:00  night                                -> 2 of 2026-03-31 counted, key_1:per_1:2026-03-30 for 0.0003, key_1:per_1:2026-03-31 for 0.0006`,
  "calls of the last day of a month count in its week, and appear on the next bill": `
    2026-03-31 23:00  credit  0.00                         -> ok
    2026-03-31 23:00  limit   per_1 general month 0.0002   -> ok
    2026-03-31 23:00  limit   company general week 0.0003  -> ok
    2026-03-31 23:59  call    key_1 of per_1               -> served
    2026-03-31 23:59  call    key_1 of per_1               -> served
    2026-03-31 23:59  call    key_1 of per_1               -> no: per_1's month, used 0.0002 of 0.0002, resets 2026-04-01
    2026-04-01 00:00  look    per_1 general                -> per_1's month, used 0.00 of 0.0002, resets 2026-05-01
    2026-04-01 00:00  look    company general              -> company's week, used 0.0002 of 0.0003, resets 2026-04-06
    2026-04-01 00:01  call    key_1 of per_1               -> 2026-03 closed with 0.00, 2 of 2026-03-31 counted, served
    2026-04-01 00:02  call    key_1 of per_1               -> no: company's week, used 0.0003 of 0.0003, resets 2026-04-06
    2026-04-01 00:30  night                                -> 1 of 2026-04-01 counted, key_1:per_1:2026-03-31 for 0.0002
    2026-04-06 00:00  call    key_1 of per_1               -> served`,
  "a reminder is sent once per window, by the charge that reaches it": `
    2026-03-30 09:00  funds   1.00                                                -> ok
    2026-03-30 09:00  limit   company general week 0.05 reminders 0.03,0.01       -> ok
    2026-03-30 09:01  charge  chg_1  key_1 of per_1  0.009999                     -> yes
    2026-03-30 09:02  charge  chg_2  key_1 of per_1  0.000001                     -> yes, reminder 0.01 of company's week
    2026-03-30 09:03  back    chg_2                                               -> back 0.000001
    2026-03-30 09:04  charge  chg_2  key_1 of per_1  0.000001                     -> yes
    2026-03-30 09:05  charge  chg_3  key_1 of per_1  0.02                         -> yes, reminder 0.03 of company's week
    2026-03-30 09:06  remove  company general                                     -> ok
    2026-03-30 09:06  limit   company general week 0.06 reminders 0.01,0.02,0.04  -> ok
    2026-04-01 00:00  charge  chg_4  key_1 of per_1  0.00                         -> yes, reminder 0.02 of company's week
    2026-04-01 00:01  call    key_1 of per_1                                      -> served
    2026-04-01 00:02  charge  chg_5  key_1 of per_1  0.009999                     -> 1 of 2026-04-01 counted, yes, reminder 0.04 of company's week
    2026-04-05 23:59  charge  chg_6  key_1 of per_1  0.00                         -> yes
    2026-04-06 00:00  charge  chg_7  key_1 of per_1  0.02                         -> yes, reminder 0.01 of company's week, reminder 0.02 of company's week`,
  "a month is closed before any fact of the next, even if it is empty": `
    2026-01-31 23:59  credit  0.05                         -> ok
    2026-01-31 23:59  charge  chg_1  key_1 of per_1  0.02  -> yes
    2026-01-31 23:59  month                                -> nothing new
    2026-02-01 00:00  charge  chg_2  key_1 of per_1  0.04  -> no: payment_required, funds -0.02
    2026-02-01 00:00  month                                -> 2026-01 closed with -0.02
    2026-02-01 00:01  month                                -> nothing new
    2026-05-01 00:00  back    chg_1                        -> 2026-02 closed with -0.02, 2026-03 closed with -0.02, 2026-04 closed with -0.02, back 0.02
    2026-05-01 00:00  look    funds                        -> 0.00`,
  "an exempt charge lowers the funds below zero, where other charges are refused": `
    2026-03-10 09:00  funds   1.00                             -> ok
    2026-03-10 09:00  rent    num_1:2026-03  1.50              -> yes
    2026-03-10 09:01  look    funds                            -> -0.50
    2026-03-10 09:02  charge  chg_1  key_1 of per_1  0.00      -> yes
    2026-03-10 09:03  charge  chg_2  key_1 of per_1  0.000001  -> no: payment_required, funds -0.50
    2026-03-10 09:04  funds   0.50                             -> ok
    2026-03-10 09:05  charge  chg_2  key_1 of per_1  0.000001  -> no: payment_required, funds 0.00
    2026-03-10 09:06  correct 0.000001                         -> ok
    2026-03-10 09:07  charge  chg_2  key_1 of per_1  0.000001  -> yes
    2026-03-10 09:08  correct -2.00                            -> ok
    2026-03-10 09:09  look    funds                            -> -2.00
    2026-03-10 09:10  limit   company general month 1.00       -> ok
    2026-03-10 09:11  rent    num_2:2026-03  0.00              -> no: company's month, used 1.500001 of 1.00, resets 2026-04-01`,
  "a credit line, and a prepaid-only company": `
    2026-03-10 09:00  credit  0.02                             -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.020001  -> no: payment_required, funds 0.00
    2026-03-10 09:02  charge  chg_1  key_1 of per_1  0.02      -> yes
    2026-03-10 09:03  charge  chg_2  key_1 of per_1  0.000001  -> no: payment_required, funds -0.02
    2026-03-10 09:04  prepaid                                  -> ok
    2026-03-10 09:05  funds   0.03                             -> ok
    2026-03-10 09:06  charge  chg_2  key_1 of per_1  0.010001  -> no: payment_required, funds 0.01
    2026-03-10 09:07  charge  chg_2  key_1 of per_1  0.01      -> yes
    2026-03-10 09:08  lock                                     -> ok
    2026-03-10 09:09  charge  chg_3  key_1 of per_1  0.00      -> no: account_locked, funds 0.00
    2026-03-10 09:10  unlock                                   -> ok
    2026-03-10 09:11  charge  chg_3  key_1 of per_1  0.00      -> yes`,
  "a deleted company buys nothing more, and pending charges and purchases can end": `
    2026-03-10 09:00  funds   1.00                         -> ok
    2026-03-10 09:00  may     key_1  25  40                -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.02  -> yes
    2026-03-10 09:02  buy     pur_1  key_1  25             -> ok
    2026-03-10 09:03  call    key_1 of per_1               -> served
    2026-03-10 09:04  delete                               -> 1 of 2026-03-10 counted, ok
    2026-03-10 09:05  charge  chg_2  key_1 of per_1  0.02  -> no: ledger_closed, funds 0.98
    2026-03-10 09:06  funds   1.00                         -> no: ledger_closed
    2026-03-10 09:07  limit   company general month 1.00   -> no: ledger_closed
    2026-03-10 09:08  buy     pur_2  key_1  5              -> no: ledger_closed, taken 25.00
    2026-03-10 09:09  back    chg_1                        -> back 0.02
    2026-03-10 09:10  paid    pur_1                        -> ok
    2026-03-11 00:30  night                                -> key_1:per_1:2026-03-10 for 0.0001
    2026-03-11 09:00  look    funds                        -> 25.9999
    2026-03-12 09:00  undelete                             -> ok
    2026-03-12 09:01  charge  chg_2  key_1 of per_1  0.02  -> yes`,
}
