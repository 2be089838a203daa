import { expect, it } from "vitest"
import { playTable } from "./ledger-table.ts"

it("three texts fit a limit for exactly three", () => {
  const table = `
    2026-03-10 09:00  funds   1.00                           -> ok
    2026-03-10 09:00  limit   company general month  0.027   -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.009   -> yes
    2026-03-10 09:02  charge  chg_2  key_1 of per_1  0.009   -> yes
    2026-03-10 09:03  charge  chg_3  key_1 of per_1  0.009   -> yes
    2026-03-10 09:04  charge  chg_4  key_1 of per_1  0.009   -> no: company's month, used 0.027 of 0.027, anew 2026-04-01
    2026-03-31 23:59  charge  chg_5  key_1 of per_1  0.009   -> no: company's month, used 0.027 of 0.027, anew 2026-04-01
    2026-04-01 00:00  charge  chg_6  key_1 of per_1  0.009   -> yes`
  expect(playTable(table)).toBe(table)
})

it("one micro less, and only two pass", () => {
  const table = `
    2026-03-10 09:00  funds   1.00                              -> ok
    2026-03-10 09:00  limit   company general month  0.026999   -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.009      -> yes
    2026-03-10 09:02  charge  chg_2  key_1 of per_1  0.009      -> yes
    2026-03-10 09:03  charge  chg_3  key_1 of per_1  0.009      -> no: company's month, used 0.018 of 0.026999, anew 2026-04-01
    2026-03-10 09:04  charge  chg_4  key_1 of per_1  0.008999   -> yes
    2026-03-10 09:05  charge  chg_5  key_1 of per_1  0.000001   -> no: company's month, used 0.026999 of 0.026999, anew 2026-04-01`
  expect(playTable(table)).toBe(table)
})

it("a key's own limit is used up; another key of the person goes on", () => {
  const table = `
    2026-03-10 09:00  funds   1.00                           -> ok
    2026-03-10 09:00  limit   key_1 all day  0.018           -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.009   -> yes
    2026-03-10 09:02  charge  chg_2  key_1 of per_1  0.009   -> yes
    2026-03-10 09:03  charge  chg_3  key_1 of per_1  0.009   -> no: key_1's day, used 0.018 of 0.018, anew 2026-03-11
    2026-03-10 09:04  charge  chg_4  key_2 of per_1  0.009   -> yes
    2026-03-11 00:00  charge  chg_5  key_1 of per_1  0.009   -> yes`
  expect(playTable(table)).toBe(table)
})

it("a week goes on over the end of the month", () => {
  const table = `
    2026-03-30 00:00  funds   1.00                           -> ok
    2026-03-30 00:00  limit   company general week  0.018    -> ok
    2026-03-31 23:59  charge  chg_1  key_1 of per_1  0.009   -> yes
    2026-04-01 00:00  charge  chg_2  key_1 of per_1  0.009   -> yes
    2026-04-01 00:01  charge  chg_3  key_1 of per_1  0.009   -> no: company's week, used 0.018 of 0.018, anew 2026-04-06
    2026-04-01 00:02  limit   company general month  0.018   -> ok
    2026-04-01 00:02  look    company general                -> company's month, used 0.009 of 0.018, anew 2026-05-01
    2026-04-01 00:03  charge  chg_4  key_1 of per_1  0.009   -> yes
    2026-04-05 23:59  limit   company general week  0.027    -> ok
    2026-04-05 23:59  look    company general                -> company's week, used 0.027 of 0.027, anew 2026-04-06
    2026-04-06 00:00  charge  chg_5  key_1 of per_1  0.009   -> yes`
  expect(playTable(table)).toBe(table)
})

it("a limit is lowered below what is used, and raised again", () => {
  const table = `
    2026-03-10 09:00  funds   1.00                           -> ok
    2026-03-10 09:00  limit   per_1 general month  0.05      -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.03    -> yes
    2026-03-10 09:02  limit   per_1 general month  0.02      -> ok
    2026-03-10 09:03  look    per_1 general                  -> per_1's month, used 0.03 of 0.02, anew 2026-04-01
    2026-03-10 09:03  charge  chg_2  key_1 of per_1  0.01    -> no: per_1's month, used 0.03 of 0.02, anew 2026-04-01
    2026-03-10 09:04  remove  per_1 general                  -> ok
    2026-03-10 09:04  charge  chg_3  key_1 of per_1  0.01    -> yes
    2026-03-10 09:05  limit   per_1 general month  0.05      -> ok
    2026-03-10 09:05  charge  chg_4  key_1 of per_1  0.01    -> yes
    2026-03-10 09:06  charge  chg_5  key_1 of per_1  0.01    -> no: per_1's month, used 0.05 of 0.05, anew 2026-04-01`
  expect(playTable(table)).toBe(table)
})

it("what is given back after the month frees the week, not the new month", () => {
  const table = `
    2026-03-31 12:00  funds   0.02                           -> ok
    2026-03-31 12:00  limit   company general month  0.02    -> ok
    2026-03-31 12:00  limit   per_1 general week  0.02       -> ok
    2026-03-31 12:01  charge  chg_1  key_1 of per_1  0.02    -> yes
    2026-04-01 12:00  look    company general                -> company's month, used 0.00 of 0.02, anew 2026-05-01
    2026-04-01 12:00  look    per_1 general                  -> per_1's week, used 0.02 of 0.02, anew 2026-04-06
    2026-04-01 12:01  back    chg_1                          -> ok
    2026-04-01 12:02  back    chg_1                          -> nothing new
    2026-04-01 12:02  look    company general                -> company's month, used 0.00 of 0.02, anew 2026-05-01
    2026-04-01 12:02  look    per_1 general                  -> per_1's week, used 0.00 of 0.02, anew 2026-04-06
    2026-04-01 12:03  charge  chg_2  key_1 of per_1  0.02    -> yes
    2026-04-07 12:00  charge  chg_3  key_1 of per_1  0.00    -> yes
    2026-04-07 12:01  charge  chg_4  key_1 of per_1  0.001   -> no: company's month, used 0.02 of 0.02, anew 2026-05-01
    2026-05-01 00:00  charge  chg_5  key_1 of per_1  0.001   -> no: payment_required, funds 0.00`
  expect(playTable(table)).toBe(table)
})

it("two limits are full at once: the nearer one is named, and both must make room", () => {
  const table = `
    2026-03-10 09:00  funds   1.00                           -> ok
    2026-03-10 09:00  limit   company general month  0.018   -> ok
    2026-03-10 09:00  limit   per_1 general week  0.018      -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.018   -> yes
    2026-03-10 09:02  charge  chg_2  key_1 of per_1  0.009   -> no: per_1's week, used 0.018 of 0.018, anew 2026-03-16
    2026-03-10 09:03  limit   per_1 general week  0.027      -> ok
    2026-03-10 09:03  charge  chg_3  key_1 of per_1  0.009   -> no: company's month, used 0.018 of 0.018, anew 2026-04-01
    2026-03-10 09:04  limit   company general month  0.027   -> ok
    2026-03-10 09:04  charge  chg_4  key_1 of per_1  0.009   -> yes
    2026-03-10 09:05  charge  chg_5  key_2 of per_2  0.009   -> no: company's month, used 0.027 of 0.027, anew 2026-04-01`
  expect(playTable(table)).toBe(table)
})

it("the app's shared key weighs on the person whose sign-in it carries, and on nobody without", () => {
  const table = `
    2026-03-10 09:00  funds   1.00                               -> ok
    2026-03-10 09:00  limit   per_1 general month  0.018 no keys -> ok
    2026-03-10 09:01  charge  chg_1  key_1 of per_1  0.05        -> yes
    2026-03-10 09:01  look    per_1 general                      -> per_1's month, used 0.00 of 0.018, anew 2026-04-01
    2026-03-10 09:02  charge  chg_2  key_app for per_1  0.018    -> yes
    2026-03-10 09:03  charge  chg_3  key_app for per_1  0.009    -> no: per_1's month, used 0.018 of 0.018, anew 2026-04-01
    2026-03-10 09:04  charge  chg_4  key_app shared  0.009       -> yes
    2026-03-10 09:05  charge  chg_5  key_1 of per_1  0.009       -> yes
    2026-03-10 09:06  charge  chg_6  company  0.009              -> yes`
  expect(playTable(table)).toBe(table)
})
