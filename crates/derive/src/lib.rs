//! `#[derive(FromRow)]` and `#[derive(Params)]` for the crate `planaria`, which exports them.
//!
//! Of structs with named fields. What stands in `#[planaria(..)]`:
//!
//! | where | what | meaning |
//! |---|---|---|
//! | field | `rename = "name"` | the column's, or parameter's, name where it is not the field's |
//! | field | `skip` | no column, no parameter; `FromRow` takes `Default::default()` |
//! | field | `default` | of `FromRow`: `Default::default()` where the answer has no such column |
//! | struct | `crate = "path"` | where `planaria` is, if it goes by another name |
//!
//! Anything else there is an error where it stands, and so are enums, unions, and tuple structs.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Ident, LitStr, Path, parse_macro_input};

/// Reads a struct from a row of an answer: each field from the column of its name.
#[proc_macro_derive(FromRow, attributes(planaria))]
pub fn from_row(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_from_row(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct a list of parameters by name: each field is the parameter `:field`.
#[proc_macro_derive(Params, attributes(planaria))]
pub fn params(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_params(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// A field, and what is said of it.
struct Field<'a> {
    ident: &'a Ident,
    ty: &'a syn::Type,
    name: String,
    skip: bool,
    default: bool,
}

fn fields(input: &DeriveInput) -> syn::Result<Vec<Field<'_>>> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new(
            input.ident.span(),
            "only structs with named fields can have this derived",
        ));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(syn::Error::new(
            input.ident.span(),
            "only structs with named fields can have this derived",
        ));
    };
    named.named.iter().map(field).collect()
}

fn field(of: &syn::Field) -> syn::Result<Field<'_>> {
    let Some(ident) = &of.ident else { return Err(syn::Error::new(of.span(), "a field without a name")) };
    let name = ident.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
    let mut field = Field { ident, ty: &of.ty, name, skip: false, default: false };
    for attribute in of.attrs.iter().filter(|a| a.path().is_ident("planaria")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                field.name = meta.value()?.parse::<LitStr>()?.value();
            } else if meta.path.is_ident("skip") {
                field.skip = true;
            } else if meta.path.is_ident("default") {
                field.default = true;
            } else {
                return Err(meta.error("expected `rename`, `skip` or `default`"));
            }
            Ok(())
        })?;
    }
    Ok(field)
}

/// Where `planaria` is.
fn home(input: &DeriveInput) -> syn::Result<Path> {
    let mut home = Path::from(Ident::new("planaria", Span::call_site()));
    home.leading_colon = Some(Default::default());
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("planaria")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("expected `crate`"));
            }
            home = meta.value()?.parse::<LitStr>()?.parse()?;
            Ok(())
        })?;
    }
    Ok(home)
}

fn derive_from_row(input: &DeriveInput) -> syn::Result<TokenStream> {
    let (home, fields) = (home(input)?, fields(input)?);
    let mut generics = input.generics.clone();
    let reads: Vec<TokenStream> = fields
        .iter()
        .map(|Field { ident, ty, name, skip, default }| {
            if *skip {
                return quote!(#ident: ::core::default::Default::default());
            }
            // Not of types that are what they are: rustc says better what is wrong with those.
            if !input.generics.params.is_empty() {
                generics.make_where_clause().predicates.push(syn::parse_quote!(#ty: #home::FromDatum));
            }
            match default {
                false => quote!(#ident: #home::Row::get::<#ty>(row, #name)?),
                true => quote! {
                    #ident: match #home::Row::columns(row).iter().any(|column| column.name == #name) {
                        true => #home::Row::get::<#ty>(row, #name)?,
                        false => ::core::default::Default::default(),
                    }
                },
            }
        })
        .collect();
    let ident = &input.ident;
    let (of_impl, of_type, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #of_impl #home::FromRow for #ident #of_type #bounds {
            fn from_row(row: &#home::Row) -> #home::Result<Self> {
                ::core::result::Result::Ok(Self { #(#reads),* })
            }
        }
    })
}

fn derive_params(input: &DeriveInput) -> syn::Result<TokenStream> {
    let (home, mut fields) = (home(input)?, fields(input)?);
    fields.retain(|field| !field.skip);
    let mut generics = input.generics.clone();
    if !input.generics.params.is_empty() {
        for Field { ty, .. } in &fields {
            generics.make_where_clause().predicates.push(syn::parse_quote!(#ty: #home::Param));
        }
    }
    let count = fields.len();
    let numbers = 0..count;
    let idents = fields.iter().map(|field| field.ident);
    let names = fields.iter().map(|field| &field.name);
    let ident = &input.ident;
    let (of_impl, of_type, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #of_impl #home::Params for #ident #of_type #bounds {
            fn count(&self) -> usize {
                #count
            }
            fn param(&self, i: usize) -> #home::ParamRef<'_> {
                match i {
                    #(#numbers => #home::Param::as_param(&self.#idents),)*
                    _ => #home::ParamRef::Null,
                }
            }
            fn names(&self) -> ::core::option::Option<&[&str]> {
                ::core::option::Option::Some(&[#(#names),*])
            }
        }
    })
}
