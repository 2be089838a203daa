import { Button, Checkbox, Select, Textarea } from "@mantine/core"
import type { UseFormReturnType } from "@mantine/form"
import { useState } from "react"
import type { Schema } from "../../api/api-client.ts"
import { responseData, useApi } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { ErrorAlert } from "../../parts/error-alert.tsx"

/** A campaign as it stands, once what comes first was saved. */
export type ReadyCampaign = Extract<Schema<"Campaign">, { ready: true }>

type Values = {
  readonly brandType: string
  readonly description: string
  readonly messageFlow: string
  /** Parted by empty lines. */
  readonly samples: string
  readonly directLending: boolean
}

const samplesOf = (text: string): readonly string[] =>
  text
    .split(/\n\s*\n/)
    .map((one) => one.trim())
    .filter((one) => one !== "")

const between =
  (least: number, most: number) =>
  (text: string): string | null =>
    text.trim().length >= least && text.length <= most ? null : `${least} to ${most} characters`

/** A button that opens a form: what is texted. It begins with a draft where nothing was saved. */
export function CampaignForm({ campaign }: { readonly campaign: ReadyCampaign }) {
  const { saved, brandType, description, messageFlow, samples, directLending } = campaign
  return (
    <ApiCallButton<Values>
      label={saved ? "Change" : "Write it"}
      title="The campaign"
      description="A draft that a reviewer would take is made from the business and its pages."
      initialValues={{
        brandType: brandType ?? "low_volume",
        description: description ?? "",
        messageFlow: messageFlow ?? "",
        samples: samples.join("\n\n"),
        directLending: directLending ?? false,
      }}
      validators={{
        description: between(40, 4_096),
        messageFlow: between(40, 2_048),
        samples: (text) => {
          const count = samplesOf(text).length
          return count >= 2 && count <= 5 ? null : "2 to 5 texts, an empty line between them"
        },
      }}
      changeOf={(values) => ({
        method: "PUT",
        path: "/api/v1/phone/campaign",
        body: { ...values, samples: samplesOf(values.samples) },
      })}
      fields={(form) => <Fields form={form} />}
      submitLabel="Save"
      successMessage="The campaign was saved. Nothing was sent yet."
    />
  )
}

function Fields({ form }: { readonly form: UseFormReturnType<Values> }) {
  return (
    <>
      <FillInDraft form={form} />
      <Select
        label="How much is texted"
        allowDeselect={false}
        data={[
          { value: "low_volume", label: "Little: low volume" },
          { value: "standard", label: "Much: standard" },
          { value: "sole_proprietor", label: "Sole proprietor" },
        ]}
        {...form.getInputProps("brandType")}
      />
      <Textarea
        label="What is texted, and to whom"
        autosize
        minRows={2}
        maxRows={8}
        {...form.getInputProps("description")}
      />
      <Textarea
        label="How people agree to it"
        autosize
        minRows={3}
        maxRows={10}
        {...form.getInputProps("messageFlow")}
      />
      <Textarea
        label="Texts as they are sent"
        description="2 to 5, an empty line between them"
        autosize
        minRows={4}
        maxRows={12}
        {...form.getInputProps("samples")}
      />
      <Checkbox
        label="It is about loans that the company gives"
        {...form.getInputProps("directLending", { type: "checkbox" })}
      />
    </>
  )
}

/** Fills the form in with the server's draft. Nothing is saved by that. */
function FillInDraft({ form }: { readonly form: UseFormReturnType<Values> }) {
  const api = useApi()
  const [error, setError] = useState<Error | null>(null)
  const fill = async () => {
    try {
      const draft = await responseData(api.POST("/api/v1/phone/campaign/draft"))
      const { description, messageFlow, samples, directLending } = draft
      form.setValues({ description, messageFlow, samples: samples.join("\n\n"), directLending })
      setError(null)
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown
      setError(thrown)
    }
  }
  return (
    <>
      <Button variant="default" onClick={() => void fill()}>
        Fill in with a draft
      </Button>
      {error === null ? null : <ErrorAlert error={error} />}
    </>
  )
}
