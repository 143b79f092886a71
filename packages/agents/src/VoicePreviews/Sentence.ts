import type { Language } from "@svc/api/agents/Language"

/** What a voice says in its preview: a fixed text, so that clients cannot choose it. */
export const sentences: { readonly [L in Language]: string } = {
  "en-US": "Hello! This is how I sound on the phone. How can I help you today?",
  "en-GB": "Hello! This is how I sound on the phone. How may I help you today?",
  "es-ES": "¡Hola! Así sueno al teléfono. ¿En qué puedo ayudarle hoy?",
  "nl-NL": "Hallo! Zo klink ik aan de telefoon. Waarmee kan ik u vandaag helpen?",
  "de-DE": "Hallo! So klinge ich am Telefon. Wie kann ich Ihnen heute helfen?",
  "fr-FR": "Bonjour ! Voici ma voix au téléphone. Comment puis-je vous aider aujourd'hui ?",
  "it-IT": "Buongiorno! Ecco la mia voce al telefono. Come posso aiutarla oggi?",
  "pt-PT": "Olá! É assim que soo ao telefone. Como posso ajudar hoje?",
  "pl-PL": "Dzień dobry! Tak brzmię przez telefon. W czym mogę dziś pomóc?",
  "sv-SE": "Hej! Så här låter jag i telefon. Hur kan jag hjälpa dig i dag?",
  "da-DK": "Hej! Sådan lyder jeg i telefonen. Hvordan kan jeg hjælpe dig i dag?",
  "nb-NO": "Hei! Slik høres jeg ut på telefon. Hvordan kan jeg hjelpe deg i dag?",
  "fi-FI": "Hei! Tältä kuulostan puhelimessa. Kuinka voin auttaa tänään?"
}
